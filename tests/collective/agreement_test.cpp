// SPDX-License-Identifier: Apache-2.0
#include "collective/agreement.h"

#include <gtest/gtest.h>

#include "collective/standstill.h"

namespace longship::collective {
namespace {

using namespace std::chrono_literals;
using Ranks = std::vector<int>;

TEST(StandstillTest, RanksThatWaitForEachOtherAreStuck) {
  EXPECT_EQ(stuck_ranks({{true, {{{1}}}}, {true, {{{0}}}}}), (std::vector<char>{1, 1}));
}

TEST(StandstillTest, WhoComputesMayStillCome) {
  EXPECT_EQ(stuck_ranks({{true, {{{1}}}}, {false, {}}}), (std::vector<char>{0, 0}));
  // Rank 0 waits for 1, which waits for 2, which computes.
  EXPECT_EQ(stuck_ranks({{true, {{{1}}}}, {true, {{{2}}}}, {false, {}}}), (std::vector<char>{0, 0, 0}));
}

TEST(StandstillTest, OneHopelessRankAmongTheMissingIsEnough) {
  // 0 and 1 wait for each other, 2 for 1 and 3; 3 computes.
  EXPECT_EQ(stuck_ranks({{true, {{{1}}}}, {true, {{{0}}}}, {true, {{{1, 3}}}}, {false, {}}}),
            (std::vector<char>{1, 1, 1, 0}));
}

TEST(StandstillTest, OneThreadThatCanGoOnIsEnough) {
  EXPECT_EQ(stuck_ranks({{true, {{{1}}, {{}}}}, {true, {{{0}}}}}), (std::vector<char>{0, 0}));
}

class AgreementTest : public testing::Test {
 protected:
  static Announcement sum_of(std::string name, int set = 0) {
    Announcement one;
    one.name = std::move(name);
    one.set = set;
    one.count = 4;
    return one;
  }
  void announce(int rank, const Announcement& what) { agreement.announce(rank, what, now); }
  // After any standstill was long enough to be called one.
  std::string error() {
    if (auto early = agreement.next(now, true)) return early->error;
    now += 1s;
    const auto decision = agreement.next(now, true);
    return decision ? decision->error : "nothing decided";
  }

  Instant now{};
  Agreement agreement{3, {.fusion_bytes = 100, .patience = 10s}};
};

TEST_F(AgreementTest, RanksThatWaitForDifferentThingsAreToldWhich) {
  for (const int rank : {0, 1}) announce(rank, sum_of("a"));
  announce(2, sum_of("b"));
  for (const int rank : {0, 1}) agreement.waits(rank, {{0, "a"}}, 0);
  EXPECT_EQ(error(), "nothing decided");
  agreement.waits(2, {{0, "b"}}, 0);
  EXPECT_EQ(error(), R"("a" was announced by ranks 0 and 1, but not by rank 2, which waits for "b")");
  EXPECT_EQ(error(),
            R"("b" was announced by rank 2, but not by ranks 0 and 1, of which rank 0 waits for "a")");
  EXPECT_FALSE(agreement.next(now, true));
}

// Ranks 1 and 2 were told, and went on, before rank 0 got to say that it waits.
TEST_F(AgreementTest, WhoIsLateToSayThatItWaitsDoesNotHoldUpWhatComesAfterwards) {
  for (const int rank : {0, 1, 2}) announce(rank, sum_of("step." + std::to_string(rank)));
  for (const int rank : {1, 2}) agreement.waits(rank, {{0, "step." + std::to_string(rank)}}, 0);
  for (const char* const own : {"step.1", "step.2"})
    EXPECT_TRUE(error().starts_with('"' + std::string(own) + "\" was announced by rank")) << own;
  for (const int rank : {1, 2}) announce(rank, sum_of("afterwards"));
  agreement.waits(0, {{0, "step.0"}}, 0);
  for (const int rank : {1, 2}) agreement.waits(rank, {{0, "afterwards"}}, 0);
  EXPECT_EQ(
      error(),
      R"("step.0" was announced by rank 0, but not by ranks 1 and 2, of which rank 1 waits for "afterwards")");
  announce(0, sum_of("afterwards"));
  EXPECT_EQ(agreement.next(now, true)->names, std::vector<std::string>{"afterwards"});
}

TEST_F(AgreementTest, WhoseAnswerIsOnItsWayDoesNotStandStill) {
  for (const int rank : {0, 1, 2}) announce(rank, sum_of("a"));
  announce(0, sum_of("b"));
  for (const int rank : {1, 2}) announce(rank, sum_of("c"));
  EXPECT_EQ(agreement.next(now, true)->names, std::vector<std::string>{"a"});
  agreement.waits(0, {{0, "b"}}, 1);
  for (const int rank : {1, 2}) agreement.waits(rank, {{0, "c"}}, 0);  // they have not done "a" yet
  EXPECT_EQ(error(), "nothing decided");
  agreement.waits(1, {{0, "c"}}, 1);
  EXPECT_NE(error(), "nothing decided");
}

TEST_F(AgreementTest, WhoAnnouncesOrGoesOnDoesNotStandStill) {
  announce(0, sum_of("a"));
  announce(1, sum_of("b"));
  announce(2, sum_of("b"));
  agreement.waits(0, {{0, "a"}}, 0);
  agreement.waits(1, {{0, "b"}}, 0);
  agreement.waits(1, {}, 0);
  agreement.waits(2, {{0, "b"}}, 0);
  announce(0, sum_of("c"));
  agreement.waits(1, {{0, "b"}}, 0);
  EXPECT_EQ(error(), "nothing decided");
}

TEST_F(AgreementTest, SetsAreAgreedOnSeparately) {
  Announcement add;
  add.kind = Kind::add_set;
  add.name = "set";
  add.members = {1, 2};
  for (const int rank : {0, 1, 2}) announce(rank, add);
  const auto made = agreement.next(now, true);
  EXPECT_EQ(made->counts, std::vector<std::uint64_t>{1});
  EXPECT_EQ(agreement.concerned(*made), (Ranks{0, 1, 2}));

  announce(0, sum_of("w"));
  for (const int rank : {1, 2}) announce(rank, sum_of("w", 1));
  const auto decision = agreement.next(now, false);  // rank 0 has no part in it
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->set, 1);
  EXPECT_GT(decision->sequence, made->sequence);
  EXPECT_EQ(agreement.concerned(*decision), (Ranks{1, 2}));

  announce(0, sum_of("w", 1));
  EXPECT_EQ(error(), "rank 0 does not belong to process set 1");
  announce(0, sum_of("w", 7));
  EXPECT_EQ(error(), "there is no process set 7 any more");
}

TEST_F(AgreementTest, WhatASetWaitsForIsGivenUpWhenItIsRemoved) {
  Announcement change;
  change.kind = Kind::add_set;
  change.name = "set";
  change.members = {1, 2};
  for (const int rank : {0, 1, 2}) announce(rank, change);
  EXPECT_EQ(error(), "");
  announce(1, sum_of("w", 1));
  change.kind = Kind::remove_set;
  change.root = 1;
  for (const int rank : {0, 1, 2}) announce(rank, change);
  EXPECT_EQ(error(), "");
  EXPECT_EQ(error(), "process set 1 was removed");
  EXPECT_FALSE(agreement.next(now, true));
}

TEST_F(AgreementTest, AStandstillWithinASetNeedsNobodyElse) {
  Announcement add;
  add.kind = Kind::add_set;
  add.name = "set";
  add.members = {1, 2};
  for (const int rank : {0, 1, 2}) announce(rank, add);
  EXPECT_EQ(error(), "");
  announce(1, sum_of("x", 1));
  announce(2, sum_of("y"));
  agreement.waits(1, {{1, "x"}}, 1);
  agreement.waits(2, {{0, "y"}}, 1);
  EXPECT_EQ(error(), R"("x" was announced by rank 1, but not by rank 2, which waits for "y" of all ranks)");
  EXPECT_EQ(
      error(),
      R"("y" was announced by rank 2, but not by ranks 0 and 1, of which rank 1 waits for "x" of process set 1)");
}

TEST_F(AgreementTest, AGroupThatMissesOneIsAStandstillToo) {
  Announcement one = sum_of("a");
  one.group = "g";
  one.group_size = 2;
  for (const int rank : {0, 1, 2}) announce(rank, one);
  EXPECT_FALSE(agreement.next(now, true));
  for (const int rank : {0, 1, 2}) agreement.waits(rank, {{0, "a"}}, 0);
  EXPECT_NE(error().find("\"a\" was announced by ranks 0, 1 and 2"), std::string::npos);
}

}  // namespace
}  // namespace longship::collective
