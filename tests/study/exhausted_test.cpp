// SPDX-License-Identifier: Apache-2.0
#include "study/exhausted.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace longship::study {
namespace {

// Trials in one dimension, whose length is a tenth of the range.
struct Line {
  std::vector<double> places, targets;

  void add(double place, double target, int times = 1) {
    for (int i = 0; i < times; ++i) {
      places.push_back(place);
      targets.push_back(target);
    }
  }
  [[nodiscard]] Exhausted exhausted() const { return {{{100}, {false}}, places, targets}; }
};

bool contains(const Exhausted& exhausted, double place) {
  return exhausted.contains(std::vector{place});
}

TEST(ExhaustedTest, ABasinIsLeftWhenItsLastTrialsBroughtNothing) {
  Line line;
  line.add(0.9, 1);
  line.add(0.2, -1);
  line.add(0.22, -0.9, 7);
  EXPECT_FALSE(contains(line.exhausted(), 0.2)) << "seven are not enough";
  EXPECT_EQ(line.exhausted().left().size(), 9u);
  line.add(0.18, -1.001);
  const auto exhausted = line.exhausted();
  EXPECT_TRUE(contains(exhausted, 0.25));
  EXPECT_FALSE(contains(exhausted, 0.35));
  EXPECT_THAT(exhausted.left(), testing::ElementsAre(0));
}

TEST(ExhaustedTest, WhoStillGainsGoesOn) {
  Line line;
  line.add(0.2, -1, 8);
  line.add(0.2, -1.1);
  EXPECT_FALSE(contains(line.exhausted(), 0.2));
}

TEST(ExhaustedTest, TheNextBasinMayBeExhaustedToo) {
  Line line;
  line.add(0.2, -1, 10);
  line.add(0.6, -0.5, 10);
  line.add(0.9, 1, 3);
  const auto exhausted = line.exhausted();
  EXPECT_TRUE(contains(exhausted, 0.2));
  EXPECT_TRUE(contains(exhausted, 0.6));
  EXPECT_FALSE(contains(exhausted, 0.9));
  EXPECT_THAT(exhausted.left(), testing::ElementsAre(20, 21, 22));
}

TEST(ExhaustedTest, WhatHardlyMattersIsNoDistance) {
  const Lengths lengths{{100, 0.01, 4}, {false, false, true}};
  const std::vector<double> here = {0.5, 0, 1}, along = {0.55, 1, 1}, beside = {0.65, 0, 1},
                            other = {0.5, 0, 2};
  EXPECT_TRUE(lengths.is_near(here, along));
  EXPECT_FALSE(lengths.is_near(here, beside));
  EXPECT_FALSE(lengths.is_near(here, other)) << "another choice";
}

TEST(ExhaustedTest, NothingIsKnownOfNothing) {
  EXPECT_FALSE(contains(Line().exhausted(), 0.5));
  EXPECT_TRUE(Line().exhausted().left().empty());
}

}  // namespace
}  // namespace longship::study
