// SPDX-License-Identifier: Apache-2.0
#include "collective/coordinator.h"

#include <gtest/gtest.h>

#include "collective/ranks.h"

namespace longship::collective {
namespace {

using namespace std::chrono_literals;

Announcement sum_of(std::string name, std::uint64_t count = 4, Type type = Type::f32) {
  return {Kind::allreduce, type, Op::sum, 0, count, std::move(name)};
}

class CoordinatorTest : public testing::Test {
 protected:
  void announce(int rank, const Announcement& what) { coordinator.announce(rank, what, now); }
  void announce_all(const Announcement& what) {
    for (int rank = 0; rank < 3; ++rank) announce(rank, what);
  }

  Instant now{};
  Coordinator coordinator{{0, 1, 2}, {.fusion_bytes = 100, .patience = 10s}};
};

TEST_F(CoordinatorTest, NothingIsDecidedUntilTheLastRankHasCome) {
  announce(2, sum_of("a"));
  announce(0, sum_of("a"));
  EXPECT_FALSE(coordinator.next(now));
  announce(1, sum_of("a"));
  EXPECT_EQ(coordinator.next(now)->names, std::vector<std::string>{"a"});
  EXPECT_FALSE(coordinator.next(now));
}

TEST_F(CoordinatorTest, ReadyOnesOfAKindBecomeOneBatchInTheOrderOfReadiness) {
  for (const char* name : {"z", "a", "m"}) announce_all(sum_of(name));
  EXPECT_EQ(coordinator.next(now)->names, (std::vector<std::string>{"z", "a", "m"}));
}

TEST_F(CoordinatorTest, ABatchEndsAtItsLimitAndAtAnotherType) {
  announce_all(sum_of("a", 15));
  announce_all(sum_of("b", 15));
  announce_all(sum_of("c", 1, Type::f64));
  EXPECT_EQ(coordinator.next(now)->names, std::vector<std::string>{"a"});
  EXPECT_EQ(coordinator.next(now)->names, std::vector<std::string>{"b"});
  EXPECT_EQ(coordinator.next(now)->names, std::vector<std::string>{"c"});
}

TEST_F(CoordinatorTest, WhatIsLargerThanTheLimitGoesAlone) {
  announce_all(sum_of("huge", 1000));
  EXPECT_EQ(coordinator.next(now)->names, std::vector<std::string>{"huge"});
}

TEST_F(CoordinatorTest, AllGatherCarriesEveryRanksCount) {
  for (int rank = 0; rank < 3; ++rank)
    announce(rank, {Kind::allgather, Type::i64, Op::sum, 0, static_cast<std::uint64_t>(rank) * 5, "g"});
  EXPECT_EQ(coordinator.next(now)->counts, (std::vector<std::uint64_t>{0, 5, 10}));
}

TEST_F(CoordinatorTest, MismatchNamesTheTensorAndTheRanks) {
  announce(0, sum_of("w", 10));
  announce(1, sum_of("w", 10));
  announce(2, sum_of("w", 11));
  const auto decision = coordinator.next(now);
  EXPECT_EQ(decision->error,
            "ranks do not agree on \"w\": all-reduce (sum) of 11 f32 by rank 2, all-reduce (sum) of 10 f32 "
            "by ranks 0 and 1");
}

TEST_F(CoordinatorTest, ARankThatComesAfterTheMismatchIsToldAsWell) {
  announce(0, sum_of("w", 10));
  announce(1, {Kind::broadcast, Type::f32, Op::sum, 1, 10, "w"});
  EXPECT_FALSE(coordinator.next(now)->error.empty());
  announce(2, sum_of("w", 10));
  EXPECT_FALSE(coordinator.next(now)->error.empty());
  announce_all(sum_of("w"));
  EXPECT_TRUE(coordinator.next(now)->error.empty());
}

TEST_F(CoordinatorTest, PatienceEndsWithTheNamesOfThoseWhoMiss) {
  announce(1, sum_of("late"));
  EXPECT_EQ(coordinator.deadline(), now + 10s);
  now += 9s;
  EXPECT_FALSE(coordinator.next(now));
  now += 1s;
  EXPECT_EQ(coordinator.next(now)->error,
            "\"late\" was announced by rank 1, but for 10 s not by ranks 0 and 2");
  EXPECT_FALSE(coordinator.deadline());
}

// Rank 0 gives up on "w" and asks again; what ranks 1 and 2 are told about the first time must not reach the
// second.
TEST_F(CoordinatorTest, ARankThatAsksAgainIsNotRefusedForOneThatComesLate) {
  using Ranks = std::vector<std::int32_t>;
  announce(0, sum_of("w"));
  now += 10s;
  EXPECT_EQ(coordinator.next(now)->to, (Ranks{0}));
  announce(0, sum_of("w"));
  for (const int late : {1, 2}) {
    announce(late, sum_of("w"));
    const auto refusal = coordinator.next(now);
    EXPECT_FALSE(refusal->error.empty());
    EXPECT_EQ(refusal->to, Ranks{late});
    EXPECT_FALSE(coordinator.next(now));
  }
  announce(1, sum_of("w"));
  announce(2, sum_of("w"));
  const auto decision = coordinator.next(now);
  EXPECT_EQ(decision->names, std::vector<std::string>{"w"});
  EXPECT_EQ(decision->error, "");
}

TEST_F(CoordinatorTest, WhatWaitsForALeaverFailsNowAndLater) {
  announce(0, sum_of("x"));
  coordinator.leave(2);
  EXPECT_EQ(coordinator.next(now)->error, "\"x\" needs all ranks, but rank 2 has left");
  announce(1, sum_of("y"));
  EXPECT_EQ(coordinator.next(now)->error, "\"y\" needs all ranks, but rank 2 has left");
}

// ---- Warnings ----

class WarningTest : public CoordinatorTest {
 protected:
  using Sentences = std::vector<std::string>;
  void SetUp() override {
    coordinator = Coordinator({0, 1, 2}, {.fusion_bytes = 100, .patience = 100s, .warning = 10s});
  }
};

TEST_F(WarningTest, WhatWaitsForLongIsToldOnceWithWhoHasItAndWhoMisses) {
  announce(0, sum_of("w"));
  announce(2, sum_of("w"));
  EXPECT_EQ(coordinator.deadline(), now + 10s);
  now += 9s;
  EXPECT_EQ(coordinator.warnings(now), Sentences{});
  now += 2s;
  EXPECT_EQ(coordinator.warnings(now),
            Sentences{"\"w\" has waited 11 s for rank 1, announced by ranks 0 and 2"});
  EXPECT_EQ(coordinator.deadline(), now + 89s) << "next is the end of the patience";
  now += 20s;
  EXPECT_EQ(coordinator.warnings(now), Sentences{});
  announce(1, sum_of("w"));
  EXPECT_EQ(coordinator.next(now)->error, "");
}

TEST_F(WarningTest, ThoseThatWaitForTheSameRanksShareASentence) {
  for (const char* name : {"b", "a", "c"}) {
    announce(0, sum_of(name));
    now += 1s;
  }
  announce(1, sum_of("other"));
  now += 8s;  // "c" is 9 s old
  EXPECT_EQ(coordinator.warnings(now),
            Sentences{"\"b\" and 1 more have waited 11 s for ranks 1 and 2, announced by rank 0"});
  EXPECT_EQ(coordinator.deadline(), now + 1s);
  now += 2s;
  EXPECT_EQ(coordinator.warnings(now),
            (Sentences{"\"other\" has waited 10 s for ranks 0 and 2, announced by rank 1",
                       "\"c\" has waited 11 s for ranks 1 and 2, announced by rank 0"}));
}

TEST_F(WarningTest, WhatIsDoneInTimeIsNotSpokenOf) {
  announce(0, sum_of("w"));
  now += 9s;
  announce(1, sum_of("w"));
  announce(2, sum_of("w"));
  announce(1, sum_of("x"));
  now += 5s;
  EXPECT_EQ(coordinator.warnings(now), Sentences{});
  EXPECT_EQ(coordinator.deadline(), now + 5s) << "of x";
}

TEST_F(WarningTest, ARestOfAGroupIsAWaitForThoseWhoOweIt) {
  for (int rank = 0; rank < 3; ++rank)
    for (const char* name : {"a", "b"}) {
      Announcement one = sum_of(name);
      one.group = "g";
      one.group_size = 2;
      if (rank != 1 || *name == 'a') announce(rank, one);
    }
  now += 10s;
  EXPECT_EQ(coordinator.warnings(now),
            Sentences{"\"a\" and 1 more have waited 10 s for rank 1, announced by ranks 0 and 2"});
}

TEST_F(WarningTest, NoLimitNoWarning) {
  coordinator = Coordinator({0, 1, 2}, {.fusion_bytes = 100, .patience = 100s, .warning = 0s});
  announce(0, sum_of("w"));
  EXPECT_EQ(coordinator.deadline(), now + 100s);
  now += 99s;
  EXPECT_EQ(coordinator.warnings(now), Sentences{});
}

// ---- Groups and joins ----

class GroupTest : public CoordinatorTest {
 protected:
  static Announcement in_group(std::string name, std::uint64_t count = 1) {
    Announcement one = sum_of(std::move(name), count);
    one.group = "g";
    one.group_size = 2;
    return one;
  }
};

TEST_F(GroupTest, NoneIsDecidedBeforeAllOfItAreReady) {
  announce_all(in_group("a"));
  announce(0, in_group("b"));
  announce_all(sum_of("other", 1));
  EXPECT_EQ(coordinator.next(now)->names, std::vector<std::string>{"other"});
  EXPECT_FALSE(coordinator.next(now));
  announce(1, in_group("b"));
  announce(2, in_group("b"));
  EXPECT_EQ(coordinator.next(now)->names, (std::vector<std::string>{"a", "b"}));
}

TEST_F(GroupTest, OneThatFailsTakesTheOthersWithItAndThoseWhoComeLate) {
  announce_all(in_group("a"));
  announce(0, in_group("b", 1));
  announce(1, in_group("b", 2));
  EXPECT_EQ(coordinator.next(now)->names, std::vector<std::string>{"a"});
  EXPECT_EQ(coordinator.next(now)->names, std::vector<std::string>{"b"});
  announce(2, in_group("b", 1));
  const auto late = coordinator.next(now);
  EXPECT_NE(late->error, "");
  EXPECT_EQ(late->to, std::vector<std::int32_t>{2});
  for (const char* name : {"a", "b"}) announce_all(in_group(name));
  EXPECT_EQ(coordinator.next(now)->error, "");
}

TEST_F(GroupTest, PatienceEndsForAGroupThatIsNeverComplete) {
  announce_all(in_group("a"));
  announce(1, in_group("b"));
  now += 10s;
  EXPECT_EQ(
      coordinator.next(now)->error,
      R"("a" was announced by ranks 0, 1 and 2, but for 10 s the rest of its group "g" not by ranks 0 and 2)");
}

TEST_F(CoordinatorTest, WhoHasJoinedIsNotWaitedForAndToldWhatToGive) {
  Announcement join;
  join.kind = Kind::join;
  announce(0, sum_of("w"));
  announce(1, join);
  EXPECT_FALSE(coordinator.next(now));
  announce(2, sum_of("w"));
  const auto decision = coordinator.next(now);
  ASSERT_EQ(decision->details.size(), 1u);
  EXPECT_EQ(decision->details.front(), sum_of("w"));
  announce(2, join);
  EXPECT_FALSE(coordinator.next(now));
  announce(0, join);
  EXPECT_EQ(coordinator.next(now)->counts, std::vector<std::uint64_t>{0});
  announce(0, sum_of("again"));
  EXPECT_FALSE(coordinator.next(now)) << "all are back";
}

TEST(ListedTest, RanksReadLikeASentence) {
  EXPECT_EQ(listed({3}), "3");
  EXPECT_EQ(listed({0, 2}), "0 and 2");
  EXPECT_EQ(listed({0, 1, 5}), "0, 1 and 5");
  EXPECT_EQ(listed({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), "0, 1, 2, 3, 4, 5, 6, 7 and 2 more");
}

TEST(WireTest, ReportsAndDecisionsComeBackAsTheyWere) {
  const Report report = {{sum_of("a"), {Kind::broadcast, Type::u8, Op::max, 7, 9, "b"}}, true};
  const Report back = decoded_report(encoded(report));
  ASSERT_EQ(back.announcements.size(), 2u);
  EXPECT_EQ(back.announcements[1].name, "b");
  EXPECT_EQ(back.announcements[1].root, 7);
  EXPECT_TRUE(back.leaving);
  const Decision decision = {{"a", "b"}, {1, 2}, "why", {0, 3}};
  EXPECT_EQ(decoded_decision(encoded(decision)), decision);
}

TEST(WireTest, EveryTruncationIsAnError) {
  const auto whole = encoded(Report{{sum_of("abc")}, false});
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_ANY_THROW(static_cast<void>(decoded_report(std::span(whole).first(length)))) << length;
}

}  // namespace
}  // namespace longship::collective
