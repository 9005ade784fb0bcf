// SPDX-License-Identifier: Apache-2.0
#include "trace/interval.h"

#include <gtest/gtest.h>

#include <bitset>
#include <random>

namespace longship::trace {
namespace {

TEST(IntervalTest, NormalizingSortsMergesAndDropsEmptyOnes) {
  EXPECT_EQ(normalized({{5, 7}, {1, 3}, {3, 4}, {9, 9}, {6, 8}, {20, 10}}), (Intervals{{1, 4}, {5, 8}}));
}

// The same operations on a set of bits are easy to believe.
TEST(IntervalTest, SetOperationsAgreeWithBits) {
  using Bits = std::bitset<64>;
  const auto bits = [](const Intervals& set) {
    Bits all;
    for (const auto& [begin, end] : set)
      for (auto i = begin; i < end; ++i) all.set(static_cast<std::size_t>(i));
    return all;
  };
  std::mt19937 random(3);
  const auto any = [&] {
    Intervals set;
    for (auto count = random() % 6; count > 0; --count) {
      const auto begin = static_cast<std::int64_t>(random() % 60);
      set.push_back(
          {begin, begin + static_cast<std::int64_t>(random() % (64 - static_cast<unsigned>(begin)))});
    }
    return normalized(set);
  };
  for (int round = 0; round < 20'000; ++round) {
    const auto a = any(), b = any();
    ASSERT_EQ(bits(unite(a, b)), bits(a) | bits(b));
    ASSERT_EQ(bits(intersect(a, b)), bits(a) & bits(b));
    ASSERT_EQ(bits(subtract(a, b)), bits(a) & ~bits(b));
    ASSERT_EQ(static_cast<std::size_t>(length(a)), bits(a).count());
  }
}

}  // namespace
}  // namespace longship::trace
