// SPDX-License-Identifier: Apache-2.0
#include "study/pruner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "expect.h"
#include "study/population.h"
#include "study/study.h"

namespace longship::study {
namespace {

// Trials that report a value at each step and end, and one more that is still running.
struct Race {
  explicit Race(std::string_view pruner, const char* options = "") : study(std::vector<std::uint8_t>{0}) {
    study.use(make_sampler("random", 1));
    study.use(make_pruner(pruner, Options(options)));
  }
  void finished(const std::vector<double>& values) {
    const auto number = study.ask(1);
    for (std::size_t i = 0; i < values.size(); ++i)
      study.report(number, static_cast<std::int64_t>(i) + 1, values[i]);
    study.tell(number, TrialState::complete, {values.back()}, 2);
  }
  // The first step at which it is given up; 0: never.
  std::int64_t running(const std::vector<double>& values) {
    const auto number = study.ask(1);
    for (std::size_t i = 0; i < values.size(); ++i) {
      study.report(number, static_cast<std::int64_t>(i) + 1, values[i]);
      if (study.should_prune(number)) return static_cast<std::int64_t>(i) + 1;
    }
    return 0;
  }
  Study study;
};

const double nan = std::numeric_limits<double>::quiet_NaN();

TEST(PrunerTest, WithoutOneNothingIsPruned) {
  Study study(std::vector<std::uint8_t>{0});
  study.use(make_sampler("random", 1));
  const auto number = study.ask(1);
  study.report(number, 1, 1e9);
  EXPECT_FALSE(study.should_prune(number));
}

TEST(PrunerTest, MedianGivesUpTheWorseHalf) {
  Race race("median", "startup=4");
  for (const double value : {1.0, 2.0, 3.0}) race.finished({value + 1, value});
  EXPECT_EQ(race.running({9, 9}), 0);  // too few have ended
  race.finished({5, 4});
  EXPECT_EQ(race.running({9, 9}), 1);
  EXPECT_EQ(race.running({3, 2.4}), 0);
  EXPECT_EQ(race.running({2, 9}), 0);  // its best was good
  EXPECT_EQ(race.running({nan, nan}), 1);
}

TEST(PrunerTest, MedianWaitsForItsWarmUpAndInterval) {
  Race race("median", "startup=1,warmup=3,interval=2");
  race.finished({1, 1, 1, 1, 1, 1});
  EXPECT_EQ(race.running({9, 9, 9}), 3);
  Race later("median", "startup=1,warmup=4");
  later.finished({1, 1, 1, 1});
  EXPECT_EQ(later.running({9, 9, 9}), 0);
}

TEST(PrunerTest, MaximisingTurnsItRound) {
  Study study(std::vector<std::uint8_t>{1});
  study.use(make_sampler("random", 1));
  study.use(make_pruner("median", Options("startup=1")));
  const auto done = study.ask(1);
  study.report(done, 1, 5);
  study.tell(done, TrialState::complete, {5}, 2);
  const auto worse = study.ask(1), better = study.ask(1);
  study.report(worse, 1, 4);
  study.report(better, 1, 6);
  EXPECT_TRUE(study.should_prune(worse));
  EXPECT_FALSE(study.should_prune(better));
}

TEST(PrunerTest, HalvingKeepsTheBestShareAtEachRung) {
  Race race("asha", "least=2,factor=2");
  for (const double value : {1.0, 2.0, 3.0, 4.0}) race.finished({9, value, value, value});
  EXPECT_EQ(race.running({0, 5, 5, 5}), 2);
  EXPECT_EQ(race.running({0, 0.5, 0.5, 7}), 4);  // good at the first rung, bad at the second
  EXPECT_EQ(race.running({0, 0.5, 9, 0.5}), 0);  // between rungs nobody looks
}

TEST(PrunerTest, HyperbandHasBracketsThatJudgeLater) {
  Race race("hyperband", "least=1,most=27,factor=3");
  for (int i = 0; i < 40; ++i) race.finished(std::vector<double>(27, 1.0));
  std::set<std::int64_t> steps;
  for (int i = 0; i < 60; ++i) steps.insert(race.running(std::vector<double>(27, 9.0)));
  EXPECT_GE(steps.size(), 3);
  EXPECT_TRUE(steps.contains(1));
}

TEST(PrunerTest, ThresholdAndPatience) {
  Race bounds("threshold", "lower=0,upper=10");
  EXPECT_EQ(bounds.running({5, 11}), 2);
  EXPECT_EQ(bounds.running({-1}), 1);
  EXPECT_EQ(bounds.running({nan}), 1);
  Race patience("patient", "patience=2");
  EXPECT_EQ(patience.running({5, 4, 4.5, 4.5, 4.5, 4.5}), 5);
  EXPECT_EQ(patience.running({5, 4, 3, 2, 1}), 0);
}

TEST(PrunerTest, UnknownNamesAndOptionsAreErrors) {
  EXPECT_EQ(message_of([] { (void)make_pruner("medain"); }),
            "there is no pruner \"medain\": did you mean \"median\"?");
  EXPECT_EQ(message_of([] { (void)make_pruner("asha", Options("steps=3")); }),
            "the pruner asha has no option \"steps\"");
  EXPECT_EQ(message_of([] { (void)make_pruner("asha", Options("factor=1")); }),
            "successive halving needs a least step of 1 or more and a factor of 2 or more");
  EXPECT_EQ(message_of([] { (void)make_pruner("hyperband", Options("most=0")); }),
            "Hyperband needs 1 <= least <= most steps and a factor of 2 or more");
  EXPECT_EQ(message_of([] { (void)make_pruner("median", Options("percentile=101")); }),
            "the percentile is from 0 to 100, the interval at least 1");
}

TEST(PopulationTest, TheWorstTakeOverFromTheBest) {
  const std::vector<double> losses{5, 1, 3, nan, 2, 4, 0.5, 3.5};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto from = take_over_from(losses, 3, 0.25, seed);
    ASSERT_TRUE(from);
    EXPECT_TRUE(*from == 6 || *from == 1);
    EXPECT_FALSE(take_over_from(losses, 2, 0.25, seed));
    EXPECT_FALSE(take_over_from(losses, 6, 0.25, seed));
  }
  EXPECT_EQ(message_of([&] { (void)take_over_from(losses, 0, 0.7, 1); }),
            "the share of a population that is replaced is above 0 and at most 0.5, not 0.7");
  EXPECT_EQ(message_of([&] { (void)take_over_from(losses, 9, 0.2, 1); }), "the population has no member 9");
}

TEST(PopulationTest, ExploredValuesAreNearAndAllowed) {
  History history;
  const auto x = history.parameter("x", real(0, 1)), n = history.parameter("n", integer(1, 4)),
             net = history.parameter("net", category({"a", "b"}));
  const auto point = explored(history, {{x, 0.5}, {n, 4}, {net, 1}}, 0.2, 0, 7);
  EXPECT_NEAR(std::abs(point[0].value - 0.5), 0.2, 1e-9);
  EXPECT_TRUE(contains(history.parameter(n).domain, point[1].value));
  EXPECT_EQ(point[2].value, 1);
}

}  // namespace
}  // namespace longship::study
