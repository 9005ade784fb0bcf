// SPDX-License-Identifier: Apache-2.0
#include "study/study.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "expect.h"
#include "study/pareto.h"

namespace longship::study {
namespace {

Study with_random(std::vector<std::uint8_t> maximise = {0}) {
  Study study(std::move(maximise));
  study.use(make_sampler("random", 1));
  return study;
}

TEST(StudyTest, ATrialIsToldOnce) {
  auto study = with_random();
  const auto number = study.ask(1);
  study.tell(number, TrialState::complete, {3}, 2);
  EXPECT_EQ(message_of([&] { study.tell(number, TrialState::complete, {4}, 2); }),
            "trial 0 has been told already: it is complete");
  EXPECT_EQ(study.history().trial(0).values, std::vector{3.0});
}

TEST(StudyTest, WhatMakesNoSenseIsSaidAndChangesNothing) {
  auto study = with_random();
  const auto number = study.ask(1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(message_of([&] { study.tell(7, TrialState::complete, {1}, 2); }), "there is no trial 7");
  EXPECT_EQ(message_of([&] { study.tell(number, TrialState::complete, {nan}, 2); }),
            "trial 0: NaN is no value");
  EXPECT_EQ(message_of([&] {
              study.tell(number, TrialState::complete, {1, 2}, 2);
            }),
            "trial 0: 2 values for 1 objectives");
  EXPECT_EQ(message_of([&] { study.tell(number, TrialState::waiting, {}, 2); }),
            "trial 0 cannot end as waiting");
  EXPECT_EQ(message_of([&] { study.report(number, -1, 2); }), "trial 0: -1 is no step: they begin at 0");
  EXPECT_EQ(message_of([&] { study.constrain(number, {nan}); }), "trial 0: NaN is no constraint");
  EXPECT_EQ(message_of([] { Study({}); }), "a study needs an objective");
  EXPECT_EQ(message_of([] { Study({0}).ask(1); }), "the study has no sampler");
  EXPECT_EQ(study.history().trial(number).state, TrialState::running);
}

TEST(StudyTest, AnotherKindOfTheSameNameIsAnError) {
  auto study = with_random();
  (void)study.parameter("x", real(0, 1));
  EXPECT_EQ(
      message_of([&] { (void)study.parameter("x", integer(0, 3)); }),
      "parameter \"x\" was a real number from 0 to 1 in earlier trials, and is now an integer from 0 to 3: "
      "give it another name");
  (void)study.parameter("net", category({"a", "b"}));
  EXPECT_EQ(message_of([&] {
              (void)study.parameter("net", category({"a", "c"}));
            }),
            "parameter \"net\" was one of 2 choices in earlier trials, and is now one of others: give it "
            "another name");
}

TEST(StudyTest, AnotherRangeOfTheSameNameIsAnotherParameter) {
  auto study = with_random();
  EXPECT_NE(study.parameter("x", real(0, 1)), study.parameter("x", real(0, 2)));
  EXPECT_EQ(study.parameter("x", real(0, 1)), study.parameter("x", real(0, 1)));
}

TEST(StudyTest, SuggestingTwiceGivesTheSameValue) {
  auto study = with_random();
  const auto number = study.ask(1);
  const auto x = study.parameter("x", real(0, 1));
  EXPECT_EQ(study.suggest(number, x), study.suggest(number, x));
  EXPECT_EQ(study.history().trial(number).point.size(), 1);
}

TEST(StudyTest, EnqueuedTrialsComeFirstWithTheirWishes) {
  auto study = with_random();
  const auto x = study.parameter("x", real(0, 1)), net = study.parameter("net", category({"\"a\"", "\"b\""})),
             n = study.parameter("n", integer(1, 3));
  study.enqueue({{"x", "0.125"}, {"net", "\"b\""}, {"n", "17"}});
  study.enqueue({{"x", "0.5"}});
  const auto first = study.ask(1), second = study.ask(1), third = study.ask(1);
  EXPECT_EQ(study.suggest(first, x), 0.125);
  EXPECT_EQ(study.suggest(first, net), 1);
  EXPECT_LE(study.suggest(first, n), 3);  // 17 cannot be had
  EXPECT_EQ(study.suggest(second, x), 0.5);
  EXPECT_EQ(third, 2);
}

TEST(StudyTest, AddedTrialsHaveToLieInTheirDomains) {
  auto study = with_random();
  Trial trial;
  trial.state = TrialState::complete;
  trial.values = {1};
  trial.point = {{study.parameter("x", real(0, 1)), 3}};
  EXPECT_EQ(message_of([&] { study.add(trial); }), "parameter \"x\": 3 is not a real number from 0 to 1");
  trial.point[0].value = 0.5;
  study.add(trial);
  EXPECT_EQ(best_trials(study.history()), std::vector<TrialNumber>{0});
}

TEST(StudyTest, CommonParametersAreThoseOfAllFinishedTrials) {
  auto study = with_random();
  const auto x = study.parameter("x", real(0, 1)), y = study.parameter("y", real(0, 1));
  for (const bool both : {true, false}) {
    const auto number = study.ask(1);
    (void)study.suggest(number, x);
    if (both) (void)study.suggest(number, y);
    study.tell(number, TrialState::complete, {1}, 2);
    EXPECT_EQ(study.history().common_parameters(), both ? std::vector({x, y}) : std::vector{x});
  }
}

TEST(StudyTest, AHundredThousandTrialsAreNoTrouble) {
  Study study(std::vector<std::uint8_t>{1});
  study.use(make_sampler("sobol", 1));
  const auto x = study.parameter("x", real(0, 1));
  for (int i = 0; i < 100000; ++i) {
    const auto number = study.ask(1);
    study.tell(number, TrialState::complete, {study.suggest(number, x)}, 2);
  }
  EXPECT_GT(study.history().trial(best_trials(study.history())[0]).values[0], 0.9999);
}

TEST(ParetoTest, FrontHasWhatNobodyBeats) {
  auto study = with_random({0, 1});
  for (const auto& values : {std::vector{1.0, 1.0}, {2.0, 3.0}, {2.0, 2.0}, {0.5, 0.0}, {3.0, 3.0}})
    study.tell(study.ask(1), TrialState::complete, values, 2);
  EXPECT_EQ(best_trials(study.history()), (std::vector<TrialNumber>{0, 1, 3}));
}

TEST(ParetoTest, WhoViolatesConstraintsIsNeverBest) {
  auto study = with_random();
  study.tell(study.ask(1), TrialState::complete, {5}, 2);
  const auto better = study.ask(1);
  study.constrain(better, {0.1, -3});
  study.tell(better, TrialState::complete, {1}, 2);
  EXPECT_EQ(best_trials(study.history()), std::vector<TrialNumber>{0});
}

TEST(ParetoTest, RanksCountTheFrontsBefore) {
  const auto ranks = rank_by_dominance({{1, 1}, {2, 2}, {3, 3}, {0, 4}, {0.5, 2}});
  EXPECT_EQ(ranks[0].front, 0);
  EXPECT_EQ(ranks[1].front, 1);
  EXPECT_EQ(ranks[2].front, 2);
  EXPECT_EQ(ranks[3].front, 0);
  EXPECT_EQ(ranks[4].front, 0);
  EXPECT_TRUE(std::isinf(ranks[3].crowding));
  EXPECT_FALSE(std::isinf(ranks[4].crowding));
}

}  // namespace
}  // namespace longship::study
