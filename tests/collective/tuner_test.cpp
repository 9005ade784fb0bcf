// SPDX-License-Identifier: Apache-2.0
#include "collective/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace longship::collective {
namespace {

using testing::HasSubstr;

constexpr Layout fat_nodes = {32, 4, false};
constexpr Layout thin_nodes = {1024, 1024, false};

Way cheapest(double bytes, const Layout& layout) {
  const auto all = ways(layout);
  return *std::min_element(all.begin(), all.end(), [&](Way a, Way b) {
    return expected(a, bytes, layout, Costs{}) < expected(b, bytes, layout, Costs{});
  });
}

TEST(CostsTest, RanksThatShareMemoryNeedNoMessages) {
  EXPECT_EQ(ways({4, 1, true}), std::vector<Way>{Way::direct});
}

TEST(CostsTest, OnlyNodesWithSeveralRanksAreAHierarchy) {
  const auto thin = ways(thin_nodes), fat = ways(fat_nodes);
  EXPECT_EQ(std::count(thin.begin(), thin.end(), Way::hierarchical), 0);
  EXPECT_EQ(std::count(fat.begin(), fat.end(), Way::hierarchical), 1);
}

TEST(CostsTest, FewRoundsForSmallFewBytesForLarge) {
  EXPECT_NE(cheapest(1024, thin_nodes), Way::ring);
  EXPECT_EQ(cheapest(1 << 20, thin_nodes), Way::halving_doubling);
  EXPECT_EQ(cheapest(64 << 20, {4, 4, false}), Way::ring);
  EXPECT_EQ(cheapest(64 << 10, fat_nodes), Way::hierarchical);
}

TEST(CostsTest, MoreBytesNeverCostLess) {
  for (const Layout& layout : {fat_nodes, thin_nodes, Layout{3, 1, false}, Layout{2, 2, false}})
    for (const Way way : ways(layout))
      for (double bytes = 1; bytes < 1e9; bytes *= 3)
        EXPECT_LE(expected(way, bytes, layout, Costs{}), expected(way, bytes * 3, layout, Costs{}));
}

TEST(CostsTest, OneRankPaysNothing) {
  EXPECT_EQ(expected(Way::ring, 1e9, {1, 1, false}, Costs{}), 0);
}

// Chooses and measures until the choice does not change any more.
Way settled(Tuner& tuner, std::uint64_t bytes, const Layout& layout, const std::map<Way, double>& truth) {
  Way way = Way::direct;
  for (int i = 0; i < 100; ++i) {
    way = tuner.choose(bytes, layout);
    tuner.measured(way, bytes, layout, truth.at(way) * (1 + 0.1 * (i % 3)));
  }
  return way;
}

TEST(TunerTest, TheModelChoosesFirstAndTheClockLast) {
  std::vector<std::string> told;
  Tuner tuner({}, [&](const std::string& line) { told.push_back(line); });
  const Layout layout = {4, 4, false};
  const std::uint64_t bytes = std::uint64_t{1} << 20;
  EXPECT_EQ(tuner.choose(bytes, layout), cheapest(static_cast<double>(bytes), layout));
  EXPECT_EQ(
      settled(tuner, bytes, layout, {{Way::tree, 5e-3}, {Way::halving_doubling, 2e-3}, {Way::ring, 3e-3}}),
      Way::halving_doubling);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told.front(),
              HasSubstr("all-reduce of about 1 MiB by 4 ranks on 4 nodes: halving-doubling from "
                        "now on"));
}

TEST(TunerTest, WhatIsHopelessIsNotTried) {
  Tuner tuner({});
  for (int i = 0; i < 100; ++i) {
    const Way way = tuner.choose(1024, thin_nodes);
    ASSERT_NE(way, Way::ring) << "2046 messages one after the other";
    tuner.measured(way, 1024, thin_nodes, 1);
  }
}

TEST(TunerTest, SizesAndLayoutsAreSeparate) {
  Tuner tuner({});
  const std::map<Way, double> ring_wins = {{Way::tree, 3}, {Way::halving_doubling, 2}, {Way::ring, 1}};
  const std::map<Way, double> halving_wins = {{Way::tree, 3}, {Way::halving_doubling, 1}, {Way::ring, 2}};
  EXPECT_EQ(settled(tuner, 1 << 20, {4, 4, false}, ring_wins), Way::ring);
  EXPECT_EQ(settled(tuner, 1 << 22, {4, 4, false}, halving_wins), Way::halving_doubling);
  EXPECT_EQ(settled(tuner, 1 << 20, {3, 3, false}, halving_wins), Way::halving_doubling);
  EXPECT_EQ(tuner.choose(1 << 20, {4, 4, false}), Way::ring);
}

TEST(TunerTest, TheTableShowsWhatIsExpectedMeasuredAndTaken) {
  Tuner tuner({});
  const Layout layout = {4, 4, false};
  settled(tuner, 1 << 20, layout, {{Way::tree, 3}, {Way::halving_doubling, 1e-3}, {Way::ring, 2}});
  const std::string table = tuner.table(layout);
  EXPECT_THAT(table, HasSubstr("all-reduce by 4 ranks on 4 nodes\n"));
  EXPECT_THAT(table, HasSubstr("1 MiB"));
  EXPECT_THAT(table, HasSubstr("was 1.0 ms*"));
}

TEST(TunerTest, WhatWasFusedIsToldLessAndLessOften) {
  std::vector<std::string> said;
  Tuner tuner({}, [&](const std::string& line) { said.push_back(line); });
  for (std::size_t i = 1; i < 64; ++i) tuner.batched(i % 3 + 1, 2048);
  EXPECT_TRUE(said.empty());
  tuner.batched(9, 5 << 20);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said.front(),
            "fusion: of 64 all-reduces one in the middle had 2 tensors and 2 KiB, the largest 9 tensors");
  for (int i = 0; i < 256; ++i) tuner.batched(1, 100);
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said.back(),
            "fusion: of 256 all-reduces one in the middle had 1 tensor and 100 B, the largest 1 tensor");
}

}  // namespace
}  // namespace longship::collective
