// SPDX-License-Identifier: Apache-2.0
#include "study/basins.h"

#include <gtest/gtest.h>

#include <cmath>

namespace longship::study {
namespace {

Landscape line(std::vector<std::pair<double, double>> trials) {
  Landscape land{{Axis(real(0, 1))}, {}, {}};
  for (const auto& [place, loss] : trials) {
    land.places.push_back(place);
    land.losses.push_back(loss);
  }
  return land;
}

TEST(BasinsTest, TheBestTrialFarFromBetterOnesStandsInAnotherBasin) {
  const auto basin =
      basin_to_refine(line({{0.1, 1}, {0.15, 2}, {0.25, 3}, {0.8, 4}, {0.7, 5}, {0.5, 8}, {0.4, 9}}));
  ASSERT_TRUE(basin);
  EXPECT_EQ(basin->deepest, 3u);
  EXPECT_NEAR(basin->reach, 0.6 * 0.55, 1e-9);
}

TEST(BasinsTest, OneBasinHasNoOther) {
  EXPECT_FALSE(basin_to_refine(line({{0.1, 1}, {0.3, 2}, {0.5, 3}, {0.7, 4}, {0.9, 5}})));
  EXPECT_FALSE(basin_to_refine(line({{0.1, 1}})));
  EXPECT_FALSE(basin_to_refine(line({})));
}

TEST(BasinsTest, TheWorstTrialsAreNoBeginning) {
  std::vector<std::pair<double, double>> trials;
  for (int i = 0; i < 19; ++i) trials.emplace_back(0.1 + 0.01 * i, i);
  trials.emplace_back(0.9, 100);
  EXPECT_FALSE(basin_to_refine(line(trials)));
}

TEST(BasinsTest, ABasinHasHadItsTurnWhenTrialsBringNothing) {
  std::vector<std::pair<double, double>> trials{{0.1, 0}, {0.3, 5}, {0.8, 4}};
  for (int i = 0; i < 4; ++i) trials.emplace_back(0.7 + 0.02 * i, 4.5);
  trials.emplace_back(0.2, 20);
  EXPECT_TRUE(basin_to_refine(line(trials)));
  trials.emplace_back(0.75, 4.1);
  EXPECT_FALSE(basin_to_refine(line(trials)));
  trials.emplace_back(0.77, 2.5);  // but this is much nearer to the best of all
  EXPECT_TRUE(basin_to_refine(line(trials)));
}

TEST(BasinsTest, WhatIsInfinitelyBadIsNoBeginning) {
  EXPECT_FALSE(basin_to_refine(line({{0.1, 1}, {0.9, HUGE_VAL}, {0.5, HUGE_VAL}})));
}

TEST(BasinsTest, AnotherChoiceAloneIsNoOtherBasin) {
  Landscape land{{Axis(category({"a", "b"})), Axis(real(0, 1))}, {0, 0.5, 1, 0.5, 1, 0.7}, {1, 2, 3}};
  EXPECT_EQ(land.distance(0, 1), 0);
  EXPECT_NEAR(land.distance(1, 2), 0.2, 1e-9);
  EXPECT_FALSE(basin_to_refine(land));
  EXPECT_EQ(nearest_to(land, 1, 2), (std::vector<std::size_t>{1, 0}));
}

TEST(BasinsTest, PlacesLieInReachOnTheirAxes) {
  const Landscape land{
      {Axis(category({"a", "b"})), Axis(integer(0, 9)), Axis(real(0, 1))}, {1, 0.45, 0.9}, {1}};
  Random random({1});
  const auto places = places_in(land, {0, 0.3}, 60, random);
  ASSERT_EQ(places.size(), 180u);
  for (std::size_t at = 0; at < places.size(); at += 3) {
    EXPECT_EQ(places[at], 1);
    EXPECT_NEAR(places[at + 1], 0.45, 0.351);
    EXPECT_NEAR(land.axes[1].position(land.axes[1].value(places[at + 1])), places[at + 1], 1e-9);
    EXPECT_GE(places[at + 2], 0.6);
    EXPECT_LE(places[at + 2], 1);
  }
}

}  // namespace
}  // namespace longship::study
