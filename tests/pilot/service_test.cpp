// SPDX-License-Identifier: Apache-2.0
#include "pilot/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace longship::pilot {
namespace {

using namespace std::chrono_literals;
using message::AttemptId;
using message::Outcome;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

message::Take take_of(const std::string& attempt, const std::string& more = "") {
  message::Take take;
  take.assignment.attempt = AttemptId::parse(attempt);
  take.assignment.job = R"({"version":1,"name":"sea","command":["true"])" + more + "}";
  return take;
}

message::Take with_walltime(const std::string& attempt, const std::string& walltime,
                            const std::string& more = "") {
  return take_of(attempt, R"(,"needs":{"walltime":")" + walltime + "\"}" + more);
}

const std::string checkpointed = R"(,"checkpoint":{"every":"10m"})";

// The machine with a clock, and what it did as words: "running a-1.1", "start a-1.1", "ended a-1.1 finished".
class ServiceTest : public testing::Test {
 protected:
  void allocate(std::optional<std::chrono::seconds> walltime = {},
                std::chrono::seconds checkpoint_before = 120s) {
    Setting setting;
    setting.now = clock_.now();
    setting.nodes = {"n1"};
    if (walltime) setting.deadline = clock_.now() + *walltime;
    setting.checkpoint_before = checkpoint_before;
    setting.idle_limit = 60s;
    service_.emplace(setting);
  }
  std::vector<std::string> feed(const Input& input) {
    if (!service_) allocate();
    std::vector<std::string> words;
    for (const auto& action : service_->step(clock_.now(), input)) words.push_back(word(action));
    return words;
  }
  std::vector<std::string> tell(message::ToPilot message) { return feed(Told{std::move(message)}); }
  std::vector<std::string> pass(std::chrono::seconds time = 0s) {
    clock_.advance(time);
    return feed(TimePassed{});
  }
  // Time passes until something else than a heartbeat happens.
  std::vector<std::string> wait() {
    for (int i = 0; i < 100'000; ++i) {
      clock_.advance(std::max<Duration>(service_->wake() - clock_.now(), Duration(1)));
      auto words = pass();
      std::erase_if(words, [](const auto& text) { return text.starts_with("beat"); });
      if (!words.empty()) return words;
    }
    return {"nothing"};
  }
  static std::string word(const Action& action) {
    if (std::holds_alternative<Start>(action))
      return "start " + std::get<Start>(action).assignment.attempt.text();
    if (std::holds_alternative<AskForCheckpoint>(action)) return "ask for checkpoint";
    if (std::holds_alternative<StopRunning>(action)) return "stop";
    if (std::holds_alternative<Finish>(action)) return "finish";
    return word(std::get<Say>(action).message);
  }
  static std::string word(const message::FromPilot& message) {
    if (const auto* what = std::get_if<message::Running>(&message)) return "running " + what->attempt.text();
    if (const auto* what = std::get_if<message::Beat>(&message))
      return "beat" + (what->running.empty() ? "" : " " + what->running[0].text());
    if (const auto* what = std::get_if<message::Ended>(&message))
      return fmt::format("ended {} {}{}{}", what->attempt.text(), name_of(what->outcome),
                         what->checkpoint ? " with checkpoint" : "",
                         what->reason.empty() ? "" : ": " + what->reason);
    if (const auto* what = std::get_if<message::Left>(&message)) return "left: " + what->reason;
    return "began";
  }
  Done failed(const std::string& reason, int code = 1) {
    return {.how = Done::How::failed, .exit_code = code, .reason = reason};
  }
  Done stopped(bool checkpoint = false) {
    return {.how = Done::How::stopped, .exit_code = 143, .checkpoint = checkpoint};
  }

  ManualClock clock_;
  std::optional<Service> service_;
};

TEST_F(ServiceTest, AttemptsRunOneAfterAnotherInTheirOrder) {
  EXPECT_THAT(tell(take_of("a-1.1")), IsEmpty());
  EXPECT_THAT(tell(take_of("b-1.1")), IsEmpty());
  EXPECT_THAT(pass(), ElementsAre("began", "running a-1.1", "start a-1.1"));
  EXPECT_THAT(pass(), IsEmpty());
  EXPECT_THAT(feed(Done{}), ElementsAre("ended a-1.1 finished"));
  EXPECT_THAT(pass(), ElementsAre("running b-1.1", "start b-1.1"));
  EXPECT_THAT(feed(failed("rank 0 exited with code 1")),
              ElementsAre("ended b-1.1 failed: rank 0 exited with code 1"));
}

TEST_F(ServiceTest, ATakeThatComesTwiceIsTakenOnce) {
  for (int i = 0; i < 3; ++i) tell(take_of("a-1.1"));
  pass();
  EXPECT_THAT(tell(take_of("a-1.1")), IsEmpty());
  feed(Done{});
  EXPECT_THAT(tell(take_of("a-1.1")), IsEmpty());
  EXPECT_THAT(pass(), IsEmpty());
}

TEST_F(ServiceTest, AnAttemptThatWaitsIsStoppedAtOnce) {
  tell(take_of("a-1.1"));
  tell(take_of("b-1.1"));
  pass();
  EXPECT_THAT(tell(message::Stop{{"b-1", 1}}),
              ElementsAre("ended b-1.1 cancelled: cancelled before it began"));
  EXPECT_THAT(tell(message::Stop{{"b-1", 1}}), IsEmpty());
  feed(Done{});
  EXPECT_THAT(pass(), IsEmpty());
}

TEST_F(ServiceTest, AnAttemptThatRunsIsStoppedAndSaysSoWhenItEnded) {
  tell(take_of("a-1.1"));
  pass();
  EXPECT_THAT(tell(message::Stop{{"a-1", 1}, message::StopReason::superseded}), ElementsAre("stop"));
  EXPECT_THAT(tell(message::Stop{{"a-1", 1}}), IsEmpty());
  EXPECT_THAT(feed(stopped(true)),
              ElementsAre("ended a-1.1 cancelled with checkpoint: superseded by a newer attempt"));
}

TEST_F(ServiceTest, WhatFinishesWhileItIsBeingStoppedHasFinished) {
  tell(take_of("a-1.1"));
  pass();
  tell(message::Stop{{"a-1", 1}});
  EXPECT_THAT(feed(Done{}), ElementsAre("ended a-1.1 finished"));
}

TEST_F(ServiceTest, AStopMayComeBeforeItsTake) {
  EXPECT_THAT(tell(message::Stop{{"a-1", 1}}), IsEmpty());
  EXPECT_THAT(tell(take_of("a-1.1")), ElementsAre("ended a-1.1 cancelled: cancelled before it began"));
  EXPECT_THAT(tell(take_of("a-1.1")), IsEmpty());
  EXPECT_THAT(pass(), ElementsAre("began"));
}

TEST_F(ServiceTest, TakeStopAndLeaveReadAtOnceStartNothing) {
  tell(take_of("a-1.1"));
  tell(message::Stop{{"a-1", 1}});
  tell(message::Leave{});
  EXPECT_THAT(pass(), ElementsAre("began", "left: it was told to leave", "finish"));
}

TEST_F(ServiceTest, LeaveLetsWhatWasTakenEndAndTakesNoMore) {
  tell(take_of("a-1.1"));
  tell(message::Leave{});
  EXPECT_THAT(tell(take_of("b-1.1")),
              ElementsAre("ended b-1.1 lost: given to a pilot that was about to leave"));
  EXPECT_THAT(pass(), ElementsAre("began", "running a-1.1", "start a-1.1"));
  feed(Done{});
  EXPECT_THAT(pass(), ElementsAre("left: it was told to leave", "finish"));
  EXPECT_TRUE(service_->finished());
  EXPECT_THAT(tell(take_of("c-1.1")), IsEmpty());
  EXPECT_THAT(pass(1h), IsEmpty());
}

TEST_F(ServiceTest, WithoutWorkItLeavesAfterAWhile) {
  EXPECT_THAT(pass(), ElementsAre("began"));
  EXPECT_THAT(pass(59s), ElementsAre("beat"));
  EXPECT_THAT(pass(1s), ElementsAre("left: there was no work for 1m", "finish"));
}

TEST_F(ServiceTest, TheWhileBeginsWithTheEndOfTheLastAttempt) {
  tell(take_of("a-1.1"));
  pass();
  pass(1h);
  feed(Done{});
  EXPECT_THAT(pass(59s), ElementsAre("beat"));
  EXPECT_THAT(wait(), ElementsAre(HasSubstr("left: there was no work"), "finish"));
}

TEST_F(ServiceTest, ItBeatsEveryEightSecondsAndOncePerSecondWhenMetricsMove) {
  tell(take_of("a-1.1"));
  pass();
  EXPECT_THAT(pass(7s), IsEmpty());
  EXPECT_THAT(pass(1s), ElementsAre("beat a-1.1"));
  feed(Progress{{1, 10, {{"loss", 0.5}}}});
  EXPECT_THAT(pass(), IsEmpty());
  EXPECT_LE(service_->wake(), clock_.now() + 1s);
  EXPECT_THAT(pass(1s), ElementsAre("beat a-1.1"));
  feed(Progress{{1, 10, {{"loss", 0.5}}}});
  EXPECT_THAT(pass(1s), IsEmpty());
}

TEST_F(ServiceTest, TheLastMetricsAreInEndedAndTheNextAttemptBeginsWithout) {
  tell(take_of("a-1.1"));
  tell(take_of("b-1.1"));
  pass();
  feed(Progress{{7, 10, {}}});
  const auto actions = service_->step(clock_.now(), Done{});
  EXPECT_EQ(std::get<message::Ended>(std::get<Say>(actions.at(0)).message).metrics.step, 7u);
  pass();
  const auto next = service_->step(clock_.now(), Done{});
  EXPECT_EQ(std::get<message::Ended>(std::get<Say>(next.at(0)).message).metrics.step, 0u);
}

TEST_F(ServiceTest, AJobThatCannotBeReadFails) {
  auto take = take_of("a-1.1");
  take.assignment.job = "{}";
  tell(take);
  EXPECT_THAT(pass(), ElementsAre("began", HasSubstr("ended a-1.1 failed: job: ")));
}

TEST_F(ServiceTest, AJobForMoreNodesThanThereAreIsGivenElsewhere) {
  tell(take_of("a-1.1", R"(,"needs":{"nodes":2})"));
  EXPECT_THAT(pass(), ElementsAre("began", "ended a-1.1 lost: it needs 2 nodes, and this allocation has 1"));
}

TEST_F(ServiceTest, WhatDoesNotFitTheTimeLeftIsGivenElsewhere) {
  allocate(1h);
  tell(with_walltime("a-1.1", "50m"));
  tell(with_walltime("b-1.1", "10m"));
  tell(with_walltime("c-1.1", "5m"));
  tell(take_of("d-1.1"));
  pass();
  pass(51min);
  feed(stopped());
  EXPECT_THAT(pass(), ElementsAre("ended b-1.1 lost: no time left in this allocation", "running c-1.1",
                                  "start c-1.1"));
}

TEST_F(ServiceTest, TheFirstIsStartedThoughAMomentOfItsWalltimeIsGone) {
  allocate(1h);
  clock_.advance(2s);
  tell(with_walltime("a-1.1", "1h"));
  tell(with_walltime("b-1.1", "1h"));
  EXPECT_THAT(pass(), ElementsAre("began", "running a-1.1", "start a-1.1"));
  feed(Done{});
  EXPECT_THAT(pass(), ElementsAre("ended b-1.1 lost: no time left in this allocation"));
}

TEST_F(ServiceTest, BeforeTheAllocationEndsACheckpointIsAskedForAndTheRanksAreStopped) {
  allocate(1h);
  tell(take_of("a-1.1"));
  pass();
  EXPECT_THAT(wait(), ElementsAre("ask for checkpoint"));
  EXPECT_EQ(clock_.now() - Instant{}, 58min);
  EXPECT_THAT(wait(), ElementsAre("stop"));
  EXPECT_EQ(clock_.now() - Instant{}, 1h - 20s);
  EXPECT_THAT(feed(stopped(true)),
              ElementsAre("ended a-1.1 timed_out with checkpoint: the allocation's walltime was over"));
  EXPECT_THAT(pass(), ElementsAre("left: the allocation's walltime is over", "finish"));
}

TEST_F(ServiceTest, AShortAllocationStillRunsSomething) {
  allocate(60s);
  tell(take_of("a-1.1"));
  EXPECT_THAT(pass(), ElementsAre("began", "running a-1.1", "start a-1.1"));
  EXPECT_THAT(wait(), ElementsAre("ask for checkpoint"));
  EXPECT_EQ(clock_.now() - Instant{}, 45s);
  EXPECT_THAT(wait(), ElementsAre("stop"));
  EXPECT_EQ(clock_.now() - Instant{}, 55s);
}

TEST_F(ServiceTest, TheJobsOwnWalltimeIsKeptToo) {
  allocate(10h);
  tell(with_walltime("a-1.1", "20m"));
  pass();
  EXPECT_THAT(wait(), ElementsAre("ask for checkpoint"));
  EXPECT_EQ(clock_.now() - Instant{}, 18min);
  EXPECT_THAT(wait(), ElementsAre("stop"));
  EXPECT_EQ(clock_.now() - Instant{}, 20min);
  EXPECT_THAT(feed(stopped()), ElementsAre(HasSubstr("ended a-1.1 timed_out: its walltime of ")));
}

TEST_F(ServiceTest, SigtermAsksForACheckpointAndStopsWhenItIsThere) {
  tell(take_of("a-1.1", checkpointed));
  tell(take_of("b-1.1"));
  pass();
  EXPECT_THAT(feed(Terminated{}),
              ElementsAre("ended b-1.1 lost: the batch system ended the allocation before it began",
                          "ask for checkpoint"));
  EXPECT_THAT(pass(1s), IsEmpty());
  EXPECT_THAT(feed(CheckpointSeen{}), ElementsAre("stop"));
  EXPECT_THAT(feed(stopped(true)),
              ElementsAre("ended a-1.1 lost with checkpoint: the batch system ended the allocation"));
  EXPECT_THAT(pass(), ElementsAre("left: the batch system ended the allocation", "finish"));
}

TEST_F(ServiceTest, AfterSigtermTheCheckpointIsNotWaitedForLong) {
  tell(take_of("a-1.1", checkpointed));
  pass();
  feed(Terminated{});
  EXPECT_THAT(pass(9s), ElementsAre("beat a-1.1"));
  EXPECT_THAT(pass(1s), ElementsAre("stop"));
}

TEST_F(ServiceTest, WithoutCheckpointsOrAtTheSecondSigtermThereIsNoWaiting) {
  tell(take_of("a-1.1"));
  pass();
  EXPECT_THAT(feed(Terminated{}), ElementsAre("stop"));
  EXPECT_THAT(feed(Terminated{}), IsEmpty());
  EXPECT_THAT(feed(stopped()), ElementsAre(HasSubstr("a-1.1 lost")));
  service_.reset();
  tell(take_of("a-1.1", checkpointed));
  pass();
  feed(Terminated{});
  EXPECT_THAT(feed(Terminated{}), ElementsAre("stop"));
}

TEST_F(ServiceTest, RanksThatDieOfTheBatchSystemsSignalDidNotFail) {
  tell(take_of("a-1.1", checkpointed));
  pass();
  feed(Terminated{});
  EXPECT_THAT(feed(failed("rank 0 was killed by SIGTERM", 143)),
              ElementsAre("ended a-1.1 lost: the batch system ended the allocation"));
}

TEST_F(ServiceTest, ASigtermShortlyBeforeTheEndIsTheWalltime) {
  allocate(2min);
  tell(take_of("a-1.1"));
  pass();
  feed(Terminated{});
  EXPECT_THAT(feed(stopped()), ElementsAre("ended a-1.1 timed_out: the batch system ended the allocation"));
}

TEST_F(ServiceTest, AnIdlePilotLeavesAtSigterm) {
  pass();
  feed(Terminated{});
  EXPECT_THAT(pass(), ElementsAre("left: the batch system ended the allocation", "finish"));
}

TEST_F(ServiceTest, ACheckpointThatWasThereAnywayStopsNothing) {
  allocate(1h);
  tell(take_of("a-1.1", checkpointed));
  pass();
  EXPECT_THAT(wait(), ElementsAre("ask for checkpoint"));
  EXPECT_THAT(feed(CheckpointSeen{}), IsEmpty());
}

TEST_F(ServiceTest, WhatCouldNotBeCarriedOutIsLost) {
  tell(take_of("a-1.1"));
  pass();
  EXPECT_THAT(feed(Done{.how = Done::How::lost, .exit_code = 1, .reason = "no image"}),
              ElementsAre("ended a-1.1 lost: no image"));
}

TEST_F(ServiceTest, WhenTheAgentsLogIsDamagedItEndsItsWorkAndLeaves) {
  tell(take_of("a-1.1"));
  pass();
  feed(Deaf{"records were lost"});
  feed(Done{});
  EXPECT_THAT(pass(), ElementsAre("left: records were lost", "finish"));
}

TEST_F(ServiceTest, WhatRanInALifeBeforeIsLostAndWhatHadNotBegunRuns) {
  feed(Remembered{message::Began{}});
  feed(Remembered{message::Running{{"a-1", 1}, 1, {}}});
  message::Ended ended;
  ended.attempt = {"a-1", 1};
  feed(Remembered{ended});
  feed(Remembered{message::Running{{"b-1", 1}, 1, {}}});
  for (const auto* attempt : {"a-1.1", "b-1.1", "c-1.1"}) EXPECT_THAT(tell(take_of(attempt)), IsEmpty());
  EXPECT_THAT(pass(),
              ElementsAre("began", "ended b-1.1 lost: its pilot was killed while it ran, and started again",
                          "running c-1.1", "start c-1.1"));
}

TEST_F(ServiceTest, APilotThatLeftDoesNotComeBack) {
  EXPECT_THAT(feed(Remembered{message::Left{"done"}}), ElementsAre("finish"));
  EXPECT_THAT(tell(take_of("a-1.1")), IsEmpty());
  EXPECT_THAT(pass(), IsEmpty());
}

// Every sequence of inputs up to a length, with a kill and a new life anywhere in it: whatever happens, an
// attempt is started at most once and ends at most once, Running comes first, and nothing follows Left.
class Explorer {
 public:
  void explore(int depth) {
    std::vector<int> path;
    extend(path, depth);
  }
  int sequences = 0;

 private:
  static constexpr int inputs = 10;

  void extend(std::vector<int>& path, int depth) {
    if (depth == 0) return check(path);
    for (int input = 0; input < inputs; ++input) {
      path.push_back(input);
      extend(path, depth - 1);
      path.pop_back();
    }
  }

  struct World {
    ManualClock clock;
    std::vector<message::FromPilot> log;
    std::vector<message::ToPilot> told;
    std::multiset<std::string> started, ended;
    bool left = false, at_work = false;
    std::optional<Service> service;
  };

  static void give(World& world, const Input& input) {
    for (const auto& action : world.service->step(world.clock.now(), input)) {
      ASSERT_FALSE(world.left && !std::holds_alternative<Finish>(action));
      if (const auto* say = std::get_if<Say>(&action)) {
        world.log.push_back(say->message);
        if (const auto* end = std::get_if<message::Ended>(&say->message))
          world.ended.insert(end->attempt.text());
        world.left = world.left || std::holds_alternative<message::Left>(say->message);
      } else if (const auto* start = std::get_if<Start>(&action)) {
        const auto* running = std::get_if<message::Running>(&world.log.back());
        ASSERT_TRUE(running != nullptr && running->attempt == start->assignment.attempt);
        ASSERT_FALSE(world.at_work);
        world.at_work = true;
        world.started.insert(start->assignment.attempt.text());
      }
    }
  }

  static void live(World& world) {
    Setting setting;
    setting.now = world.clock.now();
    setting.deadline = world.clock.now() + 1h;
    world.service.emplace(setting);
    world.at_work = false;
    world.left = false;
    for (const auto& message : std::vector(world.log)) give(world, Remembered{message});
    for (const auto& message : world.told) give(world, Told{message});
  }

  static void tell(World& world, const message::ToPilot& message) {
    world.told.push_back(message);
    give(world, Told{message});
  }

  static void work(World& world, const Done& done) {
    if (!world.at_work) return;
    world.at_work = false;
    give(world, done);
  }

  static void apply(World& world, int input) {
    switch (input) {
      case 0:
        return tell(world, take_of("a-1.1"));
      case 1:
        return tell(world, take_of("a-1.2", checkpointed));
      case 2:
        return tell(world, message::Stop{{"a-1", 1}});
      case 3:
        return tell(world, message::Leave{});
      case 4:
        return work(world, Done{});
      case 5:
        return work(world, {.how = Done::How::stopped, .exit_code = 1});
      case 6:
        return give(world, Terminated{});
      case 7:
        world.clock.advance(50min);
        return give(world, TimePassed{});
      case 8:
        return live(world);
      default:
        return give(world, TimePassed{});
    }
  }

  void check(const std::vector<int>& path) {
    ++sequences;
    World world;
    live(world);
    for (const int input : path) apply(world, input);
    // To its end: whoever runs ends, and time passes.
    for (int i = 0; i < 4; ++i) {
      give(world, TimePassed{});
      work(world, Done{});
    }
    for (const auto& attempt : world.started) ASSERT_EQ(world.started.count(attempt), 1u) << attempt;
    for (const auto& attempt : world.ended) ASSERT_EQ(world.ended.count(attempt), 1u) << attempt;
    for (const auto& attempt : world.started) ASSERT_EQ(world.ended.count(attempt), 1u) << attempt;
  }
};

TEST(ServiceExplorationTest, WhateverHappensInWhateverOrderNothingRunsOrEndsTwice) {
  Explorer explorer;
  explorer.explore(4);
  EXPECT_EQ(explorer.sequences, 10'000);
}

}  // namespace
}  // namespace longship::pilot
