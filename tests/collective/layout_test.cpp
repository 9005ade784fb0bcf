// SPDX-License-Identifier: Apache-2.0
#include "collective/layout.h"

#include <gtest/gtest.h>

#include <set>

namespace longship::collective {
namespace {

TEST(PartTest, PartsFollowEachOtherAndCoverAll) {
  for (const std::size_t total : {0u, 1u, 2u, 7u, 64u, 1001u}) {
    for (const std::size_t parts : {1u, 2u, 3u, 7u, 8u, 100u}) {
      std::size_t at = 0;
      for (std::size_t i = 0; i < parts; ++i) {
        const Range part = part_of(total, parts, i);
        EXPECT_EQ(part.begin, at);
        EXPECT_LE(part.size(), total / parts + 1);
        at = part.end;
      }
      EXPECT_EQ(at, total);
    }
  }
}

TEST(FoldTest, ActiveRanksHaveDistinctPositionsAndTheInverseFindsThem) {
  for (int size = 1; size <= 70; ++size) {
    std::set<int> positions;
    for (int rank = 0; rank < size; ++rank) {
      const Folding folding = fold(rank, size);
      if (folding.folded) {
        EXPECT_TRUE(fold(folding.partner, size).has_partner);
        EXPECT_EQ(fold(folding.partner, size).partner, rank);
        continue;
      }
      positions.insert(folding.position);
      EXPECT_EQ(rank_at(folding.position, size), rank);
      EXPECT_LT(folding.position, folding.active);
    }
    EXPECT_EQ(static_cast<int>(positions.size()), fold(0, size).active);
  }
}

TEST(TreeTest, EveryRankIsTheChildOfItsParentOnly) {
  for (int size = 1; size <= 33; ++size) {
    for (int root = 0; root < size; ++root) {
      std::vector<int> parent(static_cast<std::size_t>(size), -1);
      for (int rank = 0; rank < size; ++rank)
        for (const int child : tree_place(rank, size, root).children) {
          EXPECT_EQ(parent[static_cast<std::size_t>(child)], -1);
          parent[static_cast<std::size_t>(child)] = rank;
        }
      for (int rank = 0; rank < size; ++rank)
        EXPECT_EQ(tree_place(rank, size, root).parent, parent[static_cast<std::size_t>(rank)]);
      EXPECT_EQ(tree_place(root, size, root).parent, -1);
    }
  }
}

}  // namespace
}  // namespace longship::collective
