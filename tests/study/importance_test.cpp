// SPDX-License-Identifier: Apache-2.0
#include "study/importance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "study/study.h"

namespace longship::study {
namespace {

// y = 3 a + b + nothing of c, over uniform points: shares 9 : 1 : 0.
Study with_trials(int count) {
  Study study({0});
  study.use(make_sampler("sobol", 1));
  const auto a = study.parameter("a", real(0, 1)), b = study.parameter("b", real(1, 100, true));
  const auto c = study.parameter("c", category({"x", "y"})), d = study.parameter("d", real(2, 2));
  for (int i = 0; i < count; ++i) {
    const auto number = study.ask(1);
    const double y = 3 * study.suggest(number, a) + std::log(study.suggest(number, b)) / std::log(100);
    (void)study.suggest(number, c);
    (void)study.suggest(number, d);
    study.tell(number, TrialState::complete, {y}, 2);
  }
  return study;
}

TEST(ImportanceTest, SharesFollowTheVariationThatAParameterExplains) {
  const auto study = with_trials(300);
  const auto shares = importance(study.history());
  ASSERT_EQ(shares.size(), 3u);  // d has but one value
  EXPECT_EQ(shares[0].first, "a");
  EXPECT_NEAR(shares[0].second, 0.9, 0.05);
  EXPECT_EQ(shares[1].first, "b");
  EXPECT_NEAR(shares[1].second, 0.1, 0.05);
  EXPECT_LT(shares[2].second, 0.01);
  EXPECT_NEAR(shares[0].second + shares[1].second + shares[2].second, 1, 1e-9);
  EXPECT_EQ(importance(study.history()), shares);
}

TEST(ImportanceTest, NothingCanBeSaidOfFewTrialsOrOfEqualOnes) {
  EXPECT_TRUE(importance(with_trials(3).history()).empty());
  Study flat({0});
  flat.use(make_sampler("random", 1));
  const auto x = flat.parameter("x", real(0, 1));
  for (int i = 0; i < 20; ++i) {
    const auto number = flat.ask(1);
    (void)flat.suggest(number, x);
    flat.tell(number, TrialState::complete, {7}, 2);
  }
  EXPECT_TRUE(importance(flat.history()).empty());
}

TEST(ImportanceTest, InfiniteValuesAndManyTrialsDoNoHarm) {
  auto study = with_trials(5000);
  const auto number = study.ask(1);
  study.tell(number, TrialState::complete, {std::numeric_limits<double>::infinity()}, 2);
  EXPECT_EQ(importance(study.history()).at(0).first, "a");
}

}  // namespace
}  // namespace longship::study
