// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace longship {
namespace {

TEST(RandomTest, SameNamesGiveTheSameNumbersEverywhere) {
  Random one({7, 3}), two({7, 3});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(one.next(), two.next());
  EXPECT_EQ(Random({1}).next(), Random({1}).next());
  EXPECT_NE(Random({1, 2}).next(), Random({2, 1}).next());
  EXPECT_NE(Random({1}).next(), Random({1, 0}).next());
}

TEST(RandomTest, KnownNumbersStayAsTheyAre) {  // a study that goes on after an update must not change
  Random random({42, 0});
  EXPECT_EQ(random.next(), 8380667335874259824U);
}

TEST(RandomTest, UniformNumbersHaveTheirMeanAndVariance) {
  Random random({5});
  double sum = 0, squares = 0;
  for (int i = 0; i < 100000; ++i) {
    const double x = random.uniform();
    ASSERT_GE(x, 0);
    ASSERT_LT(x, 1);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / 1e5, 0.5, 0.005);
  EXPECT_NEAR(squares / 1e5, 1.0 / 3, 0.005);
}

TEST(RandomTest, NormalNumbersHaveTheirMeanAndVariance) {
  Random random({6});
  double sum = 0, squares = 0;
  for (int i = 0; i < 100000; ++i) {
    const double x = random.normal();
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / 1e5, 0, 0.02);
  EXPECT_NEAR(squares / 1e5, 1, 0.03);
}

TEST(RandomTest, NumbersBelowACountAreEquallyLikely) {
  Random random({8});
  std::vector<int> counts(3);
  for (int i = 0; i < 30000; ++i) ++counts[random.below(3)];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 400);
}

}  // namespace
}  // namespace longship
