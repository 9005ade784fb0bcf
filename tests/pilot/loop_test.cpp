// SPDX-License-Identifier: Apache-2.0
// The pilot with real processes and a real spool, in this process; tests/system/test_pilot.py has the bad
// days.
#include "pilot/loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/record_log.h"
#include "expect.h"
#include "formats/archive.h"
#include "job/job.h"
#include "message/pilot_messages.h"
#include "message/spool.h"

namespace longship::pilot {
namespace {

namespace fs = std::filesystem;
using message::AttemptId;
using message::Outcome;
using testing::HasSubstr;

class LoopTest : public testing::Test {
 protected:
  LoopTest() : spool_(home_.path() / "spool"), directory_(spool_.pilot("p1")) {
    spool_.make();
    fs::create_directories(directory_);
    fs::create_directories(home_.path() / "lib" / "python");
    message::PilotOrder order;
    order.pilot = "p1";
    order.look_every = std::chrono::milliseconds(10);
    order.image_store = home_.path() / "store";
    message::write_order(directory_, order);
  }

  static job::Job job(const std::string& script) {
    job::Job job;
    job.name = "sea";
    job.command = {"sh", "-c", script};
    return job;
  }
  static message::ToPilot take(const std::string& attempt, const job::Job& job,
                               const std::string& code = "") {
    message::Assignment assignment;
    assignment.attempt = AttemptId::parse(attempt);
    assignment.job = job::to_json(job);
    assignment.code.digest = code;
    return message::Take{assignment};
  }
  void serve(const std::vector<message::ToPilot>& messages, bool pretend = false) {
    RecordLogWriter(message::to_pilot(directory_)).append(message::encode(messages));
    pilot::serve({directory_, {home_.path() / "lib", {}}, pretend});
  }
  std::vector<message::FromPilot> said() {
    std::vector<message::FromPilot> messages;
    RecordLogReader log(message::from_pilot(directory_));
    while (const auto record = log.next())
      for (auto& message : message::decode_from_pilot(record->payload))
        messages.push_back(std::move(message));
    return messages;
  }
  message::Ended ended(const std::string& attempt) {
    for (const auto& message : said())
      if (const auto* end = std::get_if<message::Ended>(&message);
          end != nullptr && end->attempt.text() == attempt)
        return *end;
    ADD_FAILURE() << attempt << " has not ended";
    return {};
  }

  TemporaryDirectory home_;
  message::Spool spool_;
  fs::path directory_;
};

TEST_F(LoopTest, CodeBecomesOutputs) {
  fs::create_directories(home_.path() / "code");
  write_file(home_.path() / "code" / "weights", "weights");
  const auto bundle = formats::pack_bundle(home_.path() / "code", home_.path() / "bundle");
  fs::rename(home_.path() / "bundle", spool_.code(bundle.digest));
  auto training = job("mkdir out; cp weights out/model.pt; echo $LONGSHIP_JOB $LONGSHIP_ATTEMPT");
  training.outputs.keep = {"out"};
  serve({take("sea-1.2", training, bundle.digest), message::Leave{}});
  const auto end = ended("sea-1.2");
  EXPECT_EQ(end.outcome, Outcome::finished) << end.reason;
  ASSERT_EQ(end.outputs.size(), 1u);
  EXPECT_EQ(end.outputs[0], (message::Output{"out/model.pt", 7}));
  const auto attempt = spool_.attempt({"sea-1", 2});
  EXPECT_EQ(read_file(attempt / "out" / "model.pt"), "weights");
  EXPECT_EQ(read_file(attempt / "output" / "rank-00000.out"), "sea-1 2\n");
  EXPECT_FALSE(fs::exists(attempt / ".spool"));
  EXPECT_FALSE(fs::exists(spool_.checkpoints("sea-1")));
}

TEST_F(LoopTest, ABundleThatIsNotWhatItShouldBeIsLost) {
  const std::string digest = "sha256:" + std::string(64, '0');
  write_file(spool_.code(digest), "something else");
  serve({take("sea-1.1", job("true"), digest), message::Leave{}});
  EXPECT_EQ(ended("sea-1.1").outcome, Outcome::lost);
  EXPECT_THAT(ended("sea-1.1").reason, HasSubstr("the code: "));
}

TEST_F(LoopTest, AnOutputInTheWayOfOurOwnFilesIsTheJobsFault) {
  auto wrong = job("mkdir output; echo x > output/rank-00000.out");
  wrong.outputs.keep = {"output/rank-00000.out"};
  serve({take("sea-1.1", wrong), message::Leave{}});
  EXPECT_EQ(ended("sea-1.1").outcome, Outcome::failed);
  EXPECT_THAT(ended("sea-1.1").reason, HasSubstr("is there already, and is Longship's own"));
}

TEST_F(LoopTest, AJobWithAnImageThatIsNotThereIsLost) {
  auto boxed = job("true");
  boxed.image = "torch";
  auto with_image = std::get<message::Take>(take("sea-1.1", boxed));
  with_image.assignment.image = R"({"version":1,"name":"torch","root":"sha256:)" + std::string(64, 'a') +
                                R"(","size":1,"files":1,"created":1})";
  serve({with_image, message::Leave{}});
  EXPECT_EQ(ended("sea-1.1").outcome, Outcome::lost);
  EXPECT_THAT(ended("sea-1.1").reason, HasSubstr("image torch is not in the site's store"));
  EXPECT_FALSE(fs::exists(spool_.attempt({"sea-1", 1})));
}

TEST_F(LoopTest, WalltimeEndsAnAttemptWithItsCheckpoint) {
  auto training = job("echo '{}' > $LONGSHIP_CHECKPOINTS/step-1.json; exec sleep 600");
  training.needs.walltime = std::chrono::seconds(1);
  training.checkpoint = job::Checkpoint{std::chrono::seconds(60), 3};
  serve({take("sea-1.1", training), message::Leave{}});
  EXPECT_EQ(ended("sea-1.1").outcome, Outcome::timed_out);
  EXPECT_TRUE(ended("sea-1.1").checkpoint);
  EXPECT_THAT(ended("sea-1.1").reason, HasSubstr("its walltime of 1s was over"));
}

TEST_F(LoopTest, SmallTasksRunWithoutPlacesOfTheirOwn) {
  auto task = job("exit 0");
  task.launch = job::Launch::single;
  auto loud = job("echo said; echo wrong >&2; exit 3");
  loud.launch = job::Launch::single;
  serve({take("sea-1.1", task), take("sea-2.1", loud), take("sea-3.1", task), message::Leave{}});
  EXPECT_EQ(ended("sea-1.1").outcome, Outcome::finished);
  EXPECT_EQ(ended("sea-2.1").outcome, Outcome::failed);
  EXPECT_EQ(ended("sea-2.1").exit_code, 3);
  EXPECT_THAT(ended("sea-2.1").reason, HasSubstr("exited with code 3"));
  EXPECT_FALSE(fs::exists(spool_.attempt({"sea-1", 1})));
  EXPECT_EQ(read_file(spool_.attempt({"sea-2", 1}) / "output" / "rank-00000.out"), "said\n");
  EXPECT_EQ(read_file(spool_.attempt({"sea-2", 1}) / "output" / "rank-00000.err"), "wrong\n");
  EXPECT_FALSE(fs::exists(spool_.attempt({"sea-3", 1})));
  EXPECT_FALSE(fs::exists(directory_ / "work"));
}

TEST_F(LoopTest, PretendedAttemptsFinishAndNothingRuns) {
  serve({take("sea-1.1", job("touch " + (home_.path() / "ran").string())), message::Leave{}}, true);
  EXPECT_EQ(ended("sea-1.1").outcome, Outcome::finished);
  EXPECT_FALSE(fs::exists(home_.path() / "ran"));
}

TEST_F(LoopTest, StartedAgainAfterItLeftItDoesNothing) {
  serve({message::Leave{}});
  serve({take("sea-1.1", job("true"))});
  EXPECT_EQ(said().size(), 2u);
}

TEST_F(LoopTest, ADirectoryThatIsNoPilotsIsRefused) {
  EXPECT_THAT(message_of([&] { pilot::serve({home_.path(), {}, false}); }), HasSubstr("pilot.json"));
  fs::rename(directory_, spool_.pilots() / "p2");
  EXPECT_THAT(message_of([&] {
                pilot::serve({spool_.pilots() / "p2", {}, false});
              }),
              HasSubstr("is not the directory of pilot p1"));
}

}  // namespace
}  // namespace longship::pilot
