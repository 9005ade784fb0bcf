// SPDX-License-Identifier: Apache-2.0
// What only a real Slurm shows, on the lab that tests/system/test_site.py starts.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "batch/slurm.h"
#include "expect.h"

namespace longship::batch {
namespace {

using testing::HasSubstr;

struct SlurmLabTest : testing::TestWithParam<std::filesystem::path> {
  ~SlurmLabTest() override {
    slurm.cancel(name);
    (void)after(State::ended);
  }
  Pilot pilot(std::vector<std::string> command) {
    Pilot pilot;
    pilot.name = name = fmt::format("p{}", ::testing::UnitTest::GetInstance()->current_test_info()->line());
    pilot.queue = "debug";
    pilot.cores = 1;
    pilot.walltime = std::chrono::minutes(5);
    pilot.output = directory.path() / "out";
    pilot.command = std::move(command);
    return pilot;
  }
  Report after(State state) {
    Report last;
    for (int i = 0; i < 1500 && last.state != state; ++i) {
      last = slurm.report(std::span(&name, 1)).at(name);
      if (last.state == State::unknown) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return last;
  }

  TemporaryDirectory directory{"longship-slurm"};
  Slurm slurm;
  std::string name = "never-was";
};

TEST_P(SlurmLabTest, QueueSettingsReachTheScript) {
  auto asked = pilot({"/bin/sh", "-c", "scontrol show job $SLURM_JOB_ID"});
  asked.account = "ml4hep";
  asked.options = {"--comment=from the queue"};
  asked.gpus = 1;
  asked.memory = std::uint64_t{100} << 20;
  asked.walltime = std::chrono::minutes(11);
  slurm.submit(asked);
  ASSERT_EQ(after(State::ended).state, State::ended);
  const auto said = read_file(asked.output);
  for (const auto* word : {"Account=ml4hep", "Comment=from the queue", "Requeue=0", "TimeLimit=00:11:00",
                           "gres:gpu:1", "MinMemoryNode=100M", "NumCPUs=1"})
    EXPECT_THAT(said, HasSubstr(word));
}

TEST_P(SlurmLabTest, SlurmctldKilledIsAnErrorNotAnEnd) {
  slurm.submit(pilot({"/bin/sleep", "600"}));
  ASSERT_EQ(after(State::running).state, State::running);
  const auto controller = GetParam() / "slurmctld.pid";
  // It is stopped in good order: killed within seconds of a start it would requeue the job itself.
  const auto pid = static_cast<pid_t>(std::stoi(read_file(controller)));
  ASSERT_EQ(::kill(pid, SIGTERM), 0);
  while (::kill(pid, 0) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_THAT(message_of([&] { (void)slurm.report(std::span(&name, 1)); }), HasSubstr("slurm: squeue"));
  Command start;
  start.arguments = {"slurmctld", "-f", (GetParam() / "slurm.conf").string()};
  const auto null = open_file("/dev/null", O_RDWR);  // not a pipe: it goes on in the background
  start.output = start.errors = null.get();
  EXPECT_TRUE(Process(start).wait()->ok());
  for (int i = 0; i < 500; ++i) {
    if (message_of([&] { (void)slurm.report(std::span(&name, 1)); }) == "(no error)") break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(slurm.report(std::span(&name, 1)).at(name).state, State::running);
}

std::vector<std::filesystem::path> labs() {
  const char* lab = std::getenv("LONGSHIP_TEST_SLURM");
  if (lab == nullptr) return {};
  return {lab};
}
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SlurmLabTest);
INSTANTIATE_TEST_SUITE_P(Lab, SlurmLabTest, testing::ValuesIn(labs()), [](const auto&) { return "Slurm"; });

}  // namespace
}  // namespace longship::batch
