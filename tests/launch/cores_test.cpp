// SPDX-License-Identifier: Apache-2.0
#include "launch/cores.h"

#include <gmock/gmock.h>

#include <numeric>
#include <set>

namespace longship::launch {
namespace {

using testing::ElementsAre;

Cores first(int count) {
  Cores cores(static_cast<std::size_t>(count));
  std::iota(cores.begin(), cores.end(), 0);
  return cores;
}

TEST(Divide, NeighboursStayTogether) {
  EXPECT_THAT(divide(first(4), 2, 0), ElementsAre(Cores{0, 1}, Cores{2, 3}));
}

TEST(Divide, NoCoreIsLostAndNoneGivenTwice) {
  for (int cores = 1; cores <= 17; ++cores) {
    for (int ranks = 1; ranks <= cores; ++ranks) {
      std::multiset<int> given;
      for (const auto& share : divide(first(cores), ranks, 0)) {
        EXPECT_FALSE(share.empty()) << cores << " cores, " << ranks << " ranks";
        given.insert(share.begin(), share.end());
      }
      EXPECT_THAT(given, testing::ElementsAreArray(first(cores))) << cores << " cores, " << ranks << " ranks";
    }
  }
}

TEST(Divide, AskedForThreadsLeaveTheOtherCoresFree) {
  EXPECT_THAT(divide(first(8), 2, 2), ElementsAre(Cores{0, 1}, Cores{2, 3}));
}

TEST(Divide, ThreadsThatDoNotFitShareAllCores) {
  EXPECT_THAT(divide(first(4), 2, 12), ElementsAre(Cores{0, 1}, Cores{2, 3}));
}

TEST(Divide, MoreRanksThanCoresTakeTurns) {
  EXPECT_THAT(divide({3, 7}, 5, 0), ElementsAre(Cores{3}, Cores{7}, Cores{3}, Cores{7}, Cores{3}));
}

TEST(Divide, OnlyTheAllowedCoresAreUsed) {
  EXPECT_THAT(divide({2, 3, 9}, 2, 0), ElementsAre(Cores{2}, Cores{3, 9}));
}

TEST(ThreadsFor, AreTheCoresUnlessAskedFor) {
  EXPECT_EQ(threads_for({0, 1, 2}, 0), 3);
  EXPECT_EQ(threads_for({0, 1, 2}, 8), 8);
  EXPECT_EQ(threads_for({}, 0), 1);
}

TEST(AllowedCores, AreAtLeastOne) {
  EXPECT_FALSE(allowed_cores().empty());
}

}  // namespace
}  // namespace longship::launch
