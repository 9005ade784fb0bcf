// SPDX-License-Identifier: Apache-2.0
// The whole agent with a real spool and the real local batch system; hub and pilots are played.
#include "agent/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/bringer.h"
#include "expect.h"
#include "fake_site.h"
#include "formats/digest.h"
#include "store/store.h"

namespace longship::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class AgentTest : public testing::Test {
 protected:
  // The one pilot, once it runs.
  std::string pilot() {
    std::string name;
    EXPECT_TRUE(eventually([&] {
      const auto names = site.pilots();
      if (names.empty()) return false;
      name = names.front();
      return std::filesystem::exists(site.spool().pilot(name) / "up");
    }));
    return name;
  }
  message::Running runs(const std::string& id) { return {AttemptId::parse(id), 1, {"here"}}; }
  message::Ended ends(const std::string& id) {
    message::Ended ended;
    ended.attempt = AttemptId::parse(id);
    return ended;
  }
  message::Answer ask(const message::Question& question) {
    const auto before = hub.answers.size();
    hub.send(question);
    EXPECT_TRUE(hub.wait([&] { return hub.answers.size() > before; }));
    return hub.answers.empty() ? message::Answer{} : hub.answers.back();
  }

  FakeSite site;
  FakeHub hub;
};

TEST_F(AgentTest, AnAttemptGoesToAPilotAndItsEndToTheHub) {
  hub.wanted.assignments = {assignment("digits-1.1")};
  RunningAgent agent(site, hub);
  const auto name = pilot();
  EXPECT_TRUE(hub.wait_fact("queued digits-1.1 " + name));
  const auto order = message::read_order(site.spool().pilot(name));
  EXPECT_EQ(order.pilot, name);
  EXPECT_EQ(order.image_store, site.site.store);
  EXPECT_EQ(std::get<message::Take>(site.told(name).at(0)).assignment.attempt.text(), "digits-1.1");
  site.say(name, {message::Began{{"here"}, {}}, runs("digits-1.1")});
  EXPECT_TRUE(hub.wait_fact("started digits-1.1"));
  site.say(name, {message::Beat{{AttemptId::parse("digits-1.1")}, {2, 10, {{"loss", 0.5}}}}});
  EXPECT_TRUE(hub.wait([&] {
    return std::any_of(hub.alives.begin(), hub.alives.end(), [](const auto& alive) {
      return !alive.heard.empty() && alive.heard.front().metrics.step == 2;
    });
  }));
  site.say(name, {ends("digits-1.1")});
  EXPECT_TRUE(hub.wait_fact("ended digits-1.1 finished"));
  EXPECT_TRUE(eventually([&] { return site.told(name).size() == 2; })) << "it is told to leave";
  site.say(name, {message::Left{"nothing to do"}});
  site.end_pilots();
  EXPECT_TRUE(eventually([&] { return site.pilots().empty(); })) << "its directory goes";
}

TEST_F(AgentTest, ItIntroducesItself) {
  RunningAgent agent(site, hub);
  ASSERT_TRUE(hub.wait([&] { return !hub.hellos.empty(); }));
  EXPECT_EQ(hub.hellos[0].site, "here");
  EXPECT_EQ(hub.hellos[0].version, "test");
  EXPECT_EQ(site::parse(hub.hellos[0].site_file, "hello").queues.front().name, "q");
  EXPECT_THAT(hub.hellos[0].outbox, SizeIs(16));
}

TEST_F(AgentTest, ASecondAgentOnTheSpoolIsToldWhoHasIt) {
  RunningAgent agent(site, hub);
  EXPECT_THAT(
      message_of([&] { Agent(site.options([&] { return hub.connect(); })); }),
      testing::AllOf(HasSubstr("another agent has the spool"), HasSubstr(std::to_string(::getpid()))));
}

TEST_F(AgentTest, ARestartedAgentGoesOnWhereTheOtherStopped) {
  hub.wanted.assignments = {assignment("digits-1.1")};
  auto first = std::make_unique<RunningAgent>(site, hub);
  const auto name = pilot();
  EXPECT_TRUE(hub.wait_fact("queued digits-1.1"));
  first.reset();
  RunningAgent second(site, hub);
  ASSERT_TRUE(hub.wait([&] { return hub.hellos.size() == 2; }));
  site.say(name, {message::Began{{"here"}, {}}, runs("digits-1.1"), ends("digits-1.1")});
  EXPECT_TRUE(hub.wait_fact("ended digits-1.1 finished"));
  EXPECT_THAT(site.pilots(), ElementsAre(name));
  EXPECT_EQ(hub.hellos[0].outbox, hub.hellos[1].outbox);
  EXPECT_THAT(hub.hellos[1].attempts, ElementsAre(AttemptId::parse("digits-1.1")));
}

TEST_F(AgentTest, WhatEndedWhileTheHubWasAwayIsToldWhenItIsBack) {
  hub.wanted.assignments = {assignment("digits-1.1")};
  RunningAgent agent(site, hub);
  const auto name = pilot();
  EXPECT_TRUE(hub.wait_fact("queued digits-1.1"));
  hub.reachable = false;
  hub.cut();
  site.say(name, {message::Began{{"here"}, {}}, runs("digits-1.1"), ends("digits-1.1")});
  EXPECT_TRUE(eventually([&] { return site.told(name).size() == 2; })) << "it leaves, hub or no hub";
  EXPECT_THAT(hub.facts, SizeIs(2));
  hub.reachable = true;
  EXPECT_TRUE(hub.wait_fact("ended digits-1.1 finished"));
}

TEST_F(AgentTest, AForgetfulHubHearsEverythingAgain) {
  hub.wanted.assignments = {assignment("digits-1.1")};
  RunningAgent agent(site, hub);
  EXPECT_TRUE(hub.wait_fact("queued digits-1.1"));
  {
    hub.cut();
    hub.facts.clear();
    hub.seen = 0;  // put back from a copy
  }
  EXPECT_TRUE(hub.wait_fact("queued digits-1.1"));
  EXPECT_EQ(hub.facts.front(), "preparing digits-1.1");
}

TEST_F(AgentTest, AcceptIsEnforcedHereToo) {
  site.site.accept.teams = {"clic"};
  hub.wanted.assignments = {assignment("digits-1.1")};
  RunningAgent agent(site, hub);
  EXPECT_TRUE(hub.wait_fact("refused digits-1.1"));
  EXPECT_THAT(site.pilots(), IsEmpty());
}

TEST_F(AgentTest, CodeIsBroughtInPieces) {
  std::string code(Bringer::piece * 2 + 1000, '\0');
  for (std::size_t i = 0; i < code.size(); ++i) code[i] = static_cast<char>(i * 7 + i / 4096);
  auto with_code = assignment("digits-1.1");
  with_code.code = {formats::digest_of(code), code.size()};
  hub.blobs[with_code.code.digest] = code;
  hub.wanted.assignments = {with_code};
  RunningAgent agent(site, hub);
  EXPECT_TRUE(hub.wait_fact("queued digits-1.1"));
  EXPECT_THAT(hub.fetches, SizeIs(3));
  EXPECT_EQ(formats::digest_of_file(site.spool().code(with_code.code.digest)), with_code.code.digest);
}

TEST_F(AgentTest, WhatCameBeforeTheConnectionBrokeIsNotAskedForAgain) {
  std::string code(Bringer::piece + 1000, 'x');
  auto with_code = assignment("digits-1.1");
  with_code.code = {formats::digest_of(code), code.size()};
  hub.blobs[with_code.code.digest] = code;
  hub.wanted.assignments = {with_code};
  site.spool().make();
  const auto hex = std::string(formats::hex_of(with_code.code.digest));
  write_file(site.site.spool / "code" / (hex + ".part"), code.substr(0, 5000));  // an earlier agent's
  hub.serves = false;
  RunningAgent agent(site, hub);
  ASSERT_TRUE(hub.wait([&] { return hub.fetches.size() == 1; }));
  EXPECT_EQ(hub.fetches[0].offset, 5000u);
  hub.serves = true;
  hub.cut();
  EXPECT_TRUE(hub.wait_fact("queued digits-1.1"));
  EXPECT_EQ(hub.fetches[1].offset, 5000u);
}

TEST_F(AgentTest, SpoiltBytesAreNotUsed) {
  auto with_code = assignment("digits-1.1");
  with_code.code = {formats::digest_of("good"), 4};
  hub.blobs[with_code.code.digest] = "evil";
  hub.wanted.assignments = {with_code};
  RunningAgent agent(site, hub);
  EXPECT_TRUE(hub.wait_fact("ended digits-1.1 lost"));
  EXPECT_THAT(hub.facts.back(), HasSubstr("instead of " + with_code.code.digest));
  EXPECT_FALSE(std::filesystem::exists(site.spool().code(with_code.code.digest)));
}

TEST_F(AgentTest, AnImageComesIntoTheSitesStore) {
  const std::string squashfs = "not really one";
  store::Image image;
  image.name = "tiny";
  image.root = formats::digest_of(squashfs);
  image.size = squashfs.size();
  image.facts.architecture = "x86_64";
  auto with_image = assignment("digits-1.1");
  auto job = job::from_json(with_image.job, "job");
  job.image = "tiny";
  with_image.job = job::to_json(job);
  with_image.image = formats::dump_json(store::to_json(image));
  hub.blobs[image.root] = squashfs;
  hub.wanted.assignments = {with_image};
  RunningAgent agent(site, hub);
  ASSERT_TRUE(hub.wait([&] { return hub.facts.size() >= 2; }));
  EXPECT_EQ(store::Store(site.site.store).find("tiny").root, image.root);
}

TEST_F(AgentTest, QuestionsAreAnsweredFromTheAttemptsDirectoryAndNowhereElse) {
  RunningAgent agent(site, hub);
  ASSERT_TRUE(hub.wait([&] { return !hub.hellos.empty(); }));
  const auto attempt = AttemptId::parse("digits-1.1");
  const auto directory = site.spool().attempt(attempt);
  std::filesystem::create_directories(directory / "output");
  std::filesystem::create_directories(directory / ".spool");
  write_file(directory / "output" / "rank-00000.out", "hello world\n");
  write_file(directory / ".spool" / "job.json", "secret");
  write_file(site.root.path() / "secret", "secret");
  std::filesystem::create_symlink(site.root.path() / "secret", directory / "link");
  const auto part = ask({1, attempt, message::About::file, "output/rank-00000.out", 6, 3});
  EXPECT_EQ(part.bytes, "wor");
  EXPECT_EQ(part.size, 12u);
  EXPECT_EQ(ask({2, attempt, message::About::file, "output/rank-00000.out", 100, 3}).bytes, "");
  for (const char* name :
       {"../../../secret", "link", ".spool/job.json", "output", "/etc/passwd", "", "none"}) {
    const auto refused = ask({4, attempt, message::About::file, name, 0, 99});
    EXPECT_FALSE(refused.error.empty()) << name;
    EXPECT_EQ(refused.bytes, "") << name;
  }
  EXPECT_THAT(ask({5, AttemptId::parse("digits-9.1"), message::About::file, "x", 0, 1}).error,
              HasSubstr("has left nothing here"));
  EXPECT_EQ(ask({6, attempt, message::About::metrics, "", 0, 100}).bytes, R"({"steps":0,"series":[]})");
  EXPECT_THAT(ask({7, attempt, message::About::report, "", 0, 0}).error, HasSubstr("nothing was recorded"));
}

TEST_F(AgentTest, DiscardedDirectoriesGoAndWithTheLastOneTheCheckpoints) {
  RunningAgent agent(site, hub);
  ASSERT_TRUE(hub.wait([&] { return !hub.hellos.empty(); }));
  const auto first = AttemptId::parse("digits-1.1"), second = AttemptId::parse("digits-1.2");
  for (const auto& id : {first, second}) std::filesystem::create_directories(site.spool().attempt(id));
  std::filesystem::create_directories(site.spool().checkpoints("digits-1"));
  hub.send(message::Discard{{first}});
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(site.spool().attempt(first)); }));
  EXPECT_TRUE(std::filesystem::exists(site.spool().checkpoints("digits-1")));
  hub.send(message::Discard{{second}});
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(site.spool().checkpoints("digits-1")); }));
}

TEST_F(AgentTest, WhatCannotBeWrittenIsNotDone) {
  RunningAgent agent(site, hub);
  ASSERT_TRUE(hub.wait([&] { return !hub.hellos.empty(); }));
  std::filesystem::remove_all(site.spool().pilots());  // no place for a pilot's log: as bad as a full disk
  write_file(site.spool().pilots(), "in the way");
  hub.wanted.assignments = {assignment("digits-1.1")};
  hub.send(message::Carry{{assignment("digits-1.1")}});
  EXPECT_TRUE(eventually([&] { return !hub.connected(); })) << "the hub sees that something is wrong";
  EXPECT_THAT(hub.facts, IsEmpty());
  std::filesystem::remove(site.spool().pilots());
  std::filesystem::create_directory(site.spool().pilots());
  EXPECT_TRUE(hub.wait_fact("queued digits-1.1"));
}

TEST_F(AgentTest, AHubThatTalksNonsenseLosesTheConnectionOnly) {
  RunningAgent agent(site, hub);
  ASSERT_TRUE(hub.wait([&] { return !hub.hellos.empty(); }));
  hub.send_bytes("nonsense");
  EXPECT_TRUE(hub.wait([&] { return hub.hellos.size() == 2; }));
}

}  // namespace
}  // namespace longship::agent
