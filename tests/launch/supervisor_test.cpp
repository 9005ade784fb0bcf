// SPDX-License-Identifier: Apache-2.0
#include "launch/supervisor.h"

#include <gmock/gmock.h>

#include <csignal>
#include <random>

namespace longship::launch {

bool operator==(const SendSignal& a, const SendSignal& b) {
  return a.rank == b.rank && a.number == b.number;
}

namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

const Instant start{};
constexpr Ending good{0, 0};

TEST(Supervisor, AllRanksThatEndWellAreAGoodEnd) {
  Supervisor supervisor(2, 5s);
  EXPECT_THAT(supervisor.step(start, RankEnded{1, good}), IsEmpty());
  EXPECT_FALSE(supervisor.done());
  EXPECT_THAT(supervisor.step(start, RankEnded{0, good}), IsEmpty());
  EXPECT_TRUE(supervisor.done());
  EXPECT_EQ(supervisor.cause(), Cause::finished);
  EXPECT_EQ(supervisor.exit_code(), 0);
  EXPECT_FALSE(supervisor.wake());
}

TEST(Supervisor, FirstFailureStopsTheOthers) {
  Supervisor supervisor(3, 5s);
  EXPECT_THAT(supervisor.step(start, RankEnded{1, {7, 0}}),
              ElementsAre(SendSignal{0, SIGTERM}, SendSignal{2, SIGTERM}));
  EXPECT_EQ(supervisor.cause(), Cause::rank_failed);
  EXPECT_EQ(supervisor.failure()->rank, 1);
  EXPECT_EQ(supervisor.wake(), start + 5s);
}

TEST(Supervisor, WhatRanksDoWhenToldToStopIsNoFailure) {
  Supervisor supervisor(2, 5s);
  (void)supervisor.step(start, RankEnded{0, {0, SIGSEGV}});
  EXPECT_THAT(supervisor.step(start, RankEnded{1, {0, SIGTERM}}), IsEmpty());
  EXPECT_TRUE(supervisor.done());
  EXPECT_EQ(supervisor.failure()->rank, 0);
  EXPECT_EQ(supervisor.exit_code(), 128 + SIGSEGV);
}

TEST(Supervisor, GraceOverMeansKill) {
  Supervisor supervisor(2, 5s);
  (void)supervisor.step(start, RankEnded{0, {1, 0}});
  EXPECT_THAT(supervisor.step(start + 4999ms, TimePassed{}), IsEmpty());
  EXPECT_THAT(supervisor.step(start + 5s, TimePassed{}), ElementsAre(SendSignal{1, SIGKILL}));
  EXPECT_FALSE(supervisor.wake());
  EXPECT_THAT(supervisor.step(start + 6s, TimePassed{}), IsEmpty());
}

TEST(Supervisor, OneInterruptStopsTheSecondKills) {
  Supervisor supervisor(1, 5s);
  EXPECT_THAT(supervisor.step(start, SignalReceived{SIGINT}), ElementsAre(SendSignal{0, SIGTERM}));
  EXPECT_THAT(supervisor.step(start, SignalReceived{SIGINT}), ElementsAre(SendSignal{0, SIGKILL}));
  EXPECT_EQ(supervisor.exit_code(), 128 + SIGINT);
}

TEST(Supervisor, RankThatEndsWellAfterASignalDoesNotHideIt) {
  Supervisor supervisor(1, 5s);
  (void)supervisor.step(start, SignalReceived{SIGTERM});
  (void)supervisor.step(start, RankEnded{0, good});
  EXPECT_EQ(supervisor.exit_code(), 128 + SIGTERM);
}

TEST(Supervisor, StopFromAboveIsObeyedOnce) {
  Supervisor supervisor(1, 5s);
  EXPECT_THAT(supervisor.step(start, StopRequested{}), ElementsAre(SendSignal{0, SIGTERM}));
  EXPECT_THAT(supervisor.step(start, StopRequested{}), IsEmpty());
  EXPECT_EQ(supervisor.cause(), Cause::stopped);
}

TEST(Supervisor, FailureOutlivesAStopFromAbove) {
  Supervisor supervisor(2, 5s);
  (void)supervisor.step(start, RankEnded{0, {9, 0}});
  (void)supervisor.step(start, StopRequested{});
  EXPECT_EQ(supervisor.exit_code(), 9);
}

TEST(Supervisor, EndToldTwiceCountsOnce) {
  Supervisor supervisor(2, 5s);
  (void)supervisor.step(start, RankEnded{0, good});
  (void)supervisor.step(start, RankEnded{0, good});
  EXPECT_FALSE(supervisor.done());
}

// Whatever happens in whatever order: no dead rank is signalled, and enough time ends everything.
TEST(Supervisor, AnyHistoryLeadsToAnEnd) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    const int ranks = 1 + static_cast<int>(random() % 4);
    Supervisor supervisor(ranks, 1s);
    std::vector<bool> alive(static_cast<std::size_t>(ranks), true);
    Instant now = start;
    const auto feed = [&](const Input& input) {
      if (const auto* ended = std::get_if<RankEnded>(&input))
        alive[static_cast<std::size_t>(ended->rank)] = false;
      for (const auto& action : supervisor.step(now, input))
        EXPECT_TRUE(alive[static_cast<std::size_t>(action.rank)]);
    };
    for (int i = 0; i < 8; ++i) {
      now += std::chrono::milliseconds(random() % 700);
      switch (random() % 4) {
        case 0:
          feed(RankEnded{static_cast<int>(random() % static_cast<unsigned>(ranks)),
                         {static_cast<int>(random() % 2), 0}});
          break;
        case 1:
          feed(SignalReceived{SIGINT});
          break;
        case 2:
          feed(StopRequested{});
          break;
        case 3:
          feed(TimePassed{});
          break;
      }
    }
    for (int rank = 0; rank < ranks; ++rank) feed(RankEnded{rank, {0, SIGKILL}});
    EXPECT_TRUE(supervisor.done()) << seed;
    EXPECT_EQ(supervisor.exit_code() == 0, supervisor.cause() == Cause::finished) << seed;
  }
}

}  // namespace
}  // namespace longship::launch
