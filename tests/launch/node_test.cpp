// SPDX-License-Identifier: Apache-2.0
// Real processes under run_here().
#include "launch/node.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>

#include "base/file.h"
#include "base/text.h"
#include "expect.h"
#include "launch/launch.h"

namespace longship::launch {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class Collector final : public Sink {
 public:
  void take(int rank, Stream stream, std::string_view bytes) override { text[{rank, stream}] += bytes; }
  void finish() override {}
  std::vector<Outlet*> outlets() override { return {}; }
  std::map<std::pair<int, Stream>, std::string> text;
};

struct Launched {
  Collector collector;
  Result result;
  const std::string& out(int rank) { return collector.text[{rank, Stream::out}]; }
  const std::string& err(int rank) { return collector.text[{rank, Stream::err}]; }
};

Plan shell(const std::string& script, int ranks) {
  Plan plan;
  plan.command = {"/bin/sh", "-c", script};
  plan.ranks = {ranks};
  plan.secret = make_secret();
  return plan;
}

Launched launch(const Plan& plan, std::function<void()> tick = nullptr,
                std::function<bool()> stop = nullptr) {
  Launched launched;
  Interruptions interruptions;
  Surroundings surroundings{interruptions, launched.collector, std::move(tick), std::move(stop)};
  launched.result = run_here(plan, surroundings);
  return launched;
}

bool alive(const std::string& pid) {
  return ::kill(std::stoi(pid), 0) == 0;
}

TEST(Node, EveryRankRunsOnce) {
  auto launched = launch(shell("echo $RANK of $WORLD_SIZE", 3));
  EXPECT_EQ(launched.result.exit_code, 0);
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(launched.out(rank), fmt::format("{} of 3\n", rank));
}

TEST(Node, FailingRankStopsTheOthersAndIsNamedWithItsLastWords) {
  const auto launched = launch(shell("if [ $RANK = 1 ]; then echo oh no >&2; exit 7; fi; exec sleep 600", 3));
  EXPECT_EQ(launched.result.exit_code, 7);
  ASSERT_TRUE(launched.result.failure);
  EXPECT_EQ(launched.result.failure->rank, 1);
  EXPECT_EQ(launched.result.failure->last_lines, "oh no\n");
  EXPECT_THAT(launched.result.failure->sentence(), HasSubstr("exited with code 7"));
}

TEST(Node, KilledRankCountsAsAShellWouldSay) {
  const auto launched = launch(shell("if [ $RANK = 0 ]; then kill -9 $$; fi; exec sleep 600", 2));
  EXPECT_EQ(launched.result.exit_code, 137);
  EXPECT_THAT(launched.result.failure->sentence(), HasSubstr("was killed by SIGKILL"));
}

TEST(Node, RankThatIgnoresTermIsKilledAfterTheGrace) {
  auto plan = shell("if [ $RANK = 0 ]; then exit 3; fi; trap '' TERM; while :; do sleep 600; done", 2);
  plan.grace = 100ms;
  EXPECT_EQ(launch(plan).result.exit_code, 3);
}

TEST(Node, WhatARankLeftBehindIsGoneAfterwards) {
  auto launched =
      launch(shell("sleep 600 >/dev/null 2>&1 & echo $!; setsid sleep 600 >/dev/null 2>&1 & echo $!", 1));
  EXPECT_EQ(launched.result.exit_code, 0);
  const auto pids = split(trim(launched.out(0)), '\n');
  ASSERT_EQ(pids.size(), 2u);
  for (const auto pid : pids) EXPECT_FALSE(alive(std::string(pid)));
}

TEST(Node, ProcessThatHoldsThePipeDoesNotHoldTheLauncher) {
  auto launched = launch(shell("setsid sleep 600 & echo ready", 1));
  EXPECT_EQ(launched.out(0), "ready\n");
}

TEST(Node, SignalToTheLauncherReachesTheRanks) {
  bool sent = false;
  Collector collector;
  Interruptions interruptions;
  Surroundings surroundings{interruptions, collector, [&] {
                              if (!sent && collector.text[{0, Stream::out}] == "up\n") {
                                sent = true;
                                ::kill(::getpid(), SIGINT);
                              }
                            }};
  const auto result = run_here(
      shell("trap 'echo told; exit 0' TERM; echo up; while :; do sleep 0.05; done", 1), surroundings);
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(result.cause, Cause::signal);
  EXPECT_EQ((collector.text[{0, Stream::out}]), "up\ntold\n");
}

TEST(Node, StopsWhenAskedTo) {
  const auto launched = launch(shell("exec sleep 600", 2), nullptr, [] { return true; });
  EXPECT_EQ(launched.result.cause, Cause::stopped);
  EXPECT_EQ(launched.result.exit_code, 143);
}

// What the control page says, as a rank without any library sees it.
constexpr const char* until_asked =
    "until [ $(od -An -tu4 -j12 -N4 $LONGSHIP_CONTROL) -gt 0 ]; do sleep 0.02; done; "
    "od -An -tu4 -j12 -N4 $LONGSHIP_CONTROL; ls $(readlink -f $LONGSHIP_CONTROL) 2>/dev/null";

Launched launch_and_ask(const Plan& plan) {
  Launched launched;
  Interruptions interruptions;
  Surroundings surroundings{interruptions, launched.collector, nullptr};
  surroundings.checkpoint = [] { return true; };  // again and again, but the ranks are asked once
  launched.result = run_here(plan, surroundings);
  return launched;
}

TEST(Node, RanksAreAskedForACheckpointOnceAndNothingIsLeft) {
  auto launched = launch_and_ask(shell(std::string(until_asked) + "; sleep 0.5", 2));
  EXPECT_EQ(launched.out(0), "          1\n");
  EXPECT_EQ(launched.out(1), "          1\n");
}

TEST(Node, RanksInABoxAreAskedToo) {
  Plan plan = shell(std::string(until_asked) + "; sleep 0.5; stat -c %h $LONGSHIP_CONTROL", 2);
  plan.box.emplace();
  plan.box->spec.root = "/";
  auto launched = launch_and_ask(plan);
  EXPECT_EQ(launched.out(0), "          1\n/run/longship/control\n0\n");  // no name is left on the host
}

TEST(Node, OrdersOfALauncherAreObeyed) {
  Pipe pipe = make_pipe();
  Collector collector;
  Interruptions interruptions;
  Surroundings surroundings{interruptions, collector, nullptr};
  surroundings.orders = pipe.read.get();
  surroundings.orders_begun = "checkpoint\n";
  surroundings.tick = [&] {
    if (!collector.text[{0, Stream::out}].empty()) write_all(pipe.write.get(), "stop\n");
  };
  const auto result = run_here(shell(std::string(until_asked) + "; exec sleep 600", 1), surroundings);
  EXPECT_EQ(result.cause, Cause::stopped);
}

TEST(Node, FloodOfOneRankDoesNotDrownTheOther) {
  auto launched = launch(shell("if [ $RANK = 0 ]; then head -c 20000000 /dev/zero; else echo small; fi", 2));
  EXPECT_EQ(launched.out(0).size(), 20'000'000u);
  EXPECT_EQ(launched.out(1), "small\n");
}

TEST(Node, OutputIsAlsoKeptInFiles) {
  const TemporaryDirectory directory;
  auto plan = shell("echo out $RANK; printf 'err without end' >&2", 2);
  plan.output = directory.path();
  (void)launch(plan);
  EXPECT_EQ(read_file(directory.path() / "rank-00001.out"), "out 1\n");
  EXPECT_EQ(read_file(directory.path() / "rank-00000.err"), "err without end");
}

TEST(Node, FullDiskOfTheFilesDoesNotStopTheRanks) {
  const TemporaryDirectory directory;
  std::filesystem::create_symlink("/dev/full", directory.path() / "rank-00000.out");
  auto plan = shell("echo one; echo two", 1);
  plan.output = directory.path();
  auto launched = launch(plan);
  EXPECT_EQ(launched.result.exit_code, 0);
  EXPECT_EQ(launched.out(0), "one\ntwo\n");
}

TEST(Node, CommandThatIsNotThereIs127) {
  Plan plan = shell("", 1);
  plan.command = {"/no/such/command"};
  auto launched = launch(plan);
  EXPECT_EQ(launched.result.exit_code, 127);
  EXPECT_THAT(launched.err(0), HasSubstr("/no/such/command"));
}

TEST(Node, DirectoryThatIsNotThereIsNamed) {
  Plan plan = shell("true", 1);
  plan.directory = "/no/such/directory";
  auto launched = launch(plan);
  EXPECT_EQ(launched.result.exit_code, 127);
  EXPECT_THAT(launched.err(0), HasSubstr("cannot start in /no/such/directory"));
}

TEST(Node, RankZeroInheritsTheListeningSocketAndTheOthersNothing) {
  auto launched = launch(shell("ls -l /proc/self/fd | grep -c socket: ; true", 2));
  EXPECT_EQ(launched.out(0), "1\n");
  EXPECT_EQ(launched.out(1), "0\n");
}

TEST(Node, BoxThatCannotBeEnteredIsAnError) {
  Plan plan = shell("true", 2);
  plan.box.emplace();
  plan.box->spec.root = "/no/such/root";
  EXPECT_THAT(message_of([&] { (void)launch(plan); }), HasSubstr("/no/such/root"));
}

TEST(Node, ManyRanksOnFewCores) {
  auto launched = launch(shell("echo $RANK", 40));
  EXPECT_EQ(launched.result.exit_code, 0);
  EXPECT_EQ(launched.out(39), "39\n");
}

}  // namespace
}  // namespace longship::launch
