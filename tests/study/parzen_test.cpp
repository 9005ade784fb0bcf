// SPDX-License-Identifier: Apache-2.0
#include "study/parzen.h"

#include <gtest/gtest.h>

#include <cmath>

#include "study/log_sum.h"
#include "study/normal.h"

namespace longship::study {
namespace {

double integral(const Parzen& parzen) {
  double sum = 0;
  const int steps = 4000;
  for (int i = 0; i < steps; ++i)
    sum += std::exp(parzen.log_density(std::vector{(i + 0.5) / steps})[0]) / steps;
  return sum;
}

TEST(ParzenTest, DensityOfOneDimensionIsOneInAll) {
  Parzen parzen({Axis(real(0, 1))}, Parzen::Weights::newest_more);
  parzen.prepare();
  EXPECT_NEAR(integral(parzen), 1, 1e-4);
  for (std::size_t i = 0; i < 150; ++i)
    parzen.insert(i, std::vector{std::fmod(static_cast<double>(i) * 0.618, 1.0)});
  parzen.prepare();
  EXPECT_NEAR(integral(parzen), 1, 1e-4);
}

TEST(ParzenTest, MassesOfCellsAndChoicesAreOneInAll) {
  Parzen parzen({Axis(integer(1, 7)), Axis(category({"a", "b", "c"}))}, Parzen::Weights::newest_more);
  for (std::size_t i = 0; i < 40; ++i)
    parzen.insert(i, std::vector{1.0 + static_cast<double>(i % 7), static_cast<double>(i % 2)});
  parzen.prepare();
  double sum = 0;
  for (int n = 1; n <= 7; ++n)
    for (int net = 0; net < 3; ++net) sum += std::exp(parzen.log_density(std::vector{n * 1.0, net * 1.0})[0]);
  EXPECT_NEAR(sum, 1, 1e-4);
}

TEST(ParzenTest, ComingAndGoingLeavesNoTrace) {
  const std::vector<Axis> axes{Axis(real(0, 1)), Axis(integer(0, 9)), Axis(category({"a", "b"}))};
  const auto point = [](std::size_t i) {
    return std::vector{std::fmod(static_cast<double>(i) * 0.37, 1.0), static_cast<double>(i % 10),
                       static_cast<double>(i % 2)};
  };
  Parzen busy(axes, Parzen::Weights::newest_more), plain(axes, Parzen::Weights::newest_more);
  for (std::size_t i = 0; i < 120; ++i) {
    busy.insert(i, point(i));
    if (i % 3 == 0) busy.prepare();
  }
  for (std::size_t i = 0; i < 120; i += 2) busy.erase(i);
  for (std::size_t i = 1; i < 120; i += 2) plain.insert(i, point(i));
  busy.prepare();
  plain.prepare();
  for (std::size_t i = 0; i < 30; ++i)
    EXPECT_NEAR(busy.log_density(point(7 * i))[0], plain.log_density(point(7 * i))[0], 1e-5);
}

TEST(ParzenTest, GivenWeightsSayHowMuchAPointCounts) {
  Parzen parzen({Axis(real(0, 1))}, Parzen::Weights::given);
  const auto height = [&](double x) { return std::exp(parzen.log_density(std::vector{x})[0]); };
  for (std::size_t i = 0; i < 10; ++i) parzen.insert(i, std::vector{i % 2 == 0 ? 0.2 : 0.8});
  parzen.prepare();
  EXPECT_NEAR(height(0.2), height(0.8), 1e-4);
  std::vector<std::pair<std::size_t, double>> weights;
  for (std::size_t i = 0; i < 10; ++i) weights.emplace_back(i, i % 2 == 0 ? 1.5 : 0.5);
  parzen.give_weights(weights);
  parzen.prepare();
  EXPECT_GT(height(0.2), 2.5 * height(0.8));
  EXPECT_NEAR(integral(parzen), 1, 1e-4);
}

TEST(ParzenTest, SamplesFollowTheDensity) {
  Parzen parzen({Axis(real(0, 1))}, Parzen::Weights::equal);
  for (std::size_t i = 0; i < 20; ++i) parzen.insert(i, std::vector{0.2 + 0.002 * static_cast<double>(i)});
  parzen.prepare();
  Random random({1});
  std::vector<double> draws;
  for (int i = 0; i < 20000; ++i) parzen.sample(random, draws, random.uniform());
  double inside = 0, expected = 0;
  for (const double draw : draws) inside += draw > 0.1 && draw < 0.3 ? 1 : 0;
  for (int i = 0; i < 2000; ++i)
    expected += std::exp(parzen.log_density(std::vector{0.1 + i * 1e-4})[0]) * 1e-4;
  EXPECT_NEAR(inside / 20000, expected, 0.02);
}

TEST(LogSumTest, IsRightToSixDigits) {
  for (const std::size_t count : {1U, 3U, 16U, 1000U}) {
    std::vector<float> terms;
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      terms.push_back(static_cast<float>(-std::fmod(static_cast<double>(i) * 7.3, 40)));
      sum += std::exp(static_cast<double>(terms.back()));
    }
    EXPECT_NEAR(log_sum_of_exponentials(terms), std::log(sum), 2e-6);
  }
}

TEST(NormalTest, QuantileInvertsTheDistribution) {
  for (const double p : {1e-12, 1e-3, 0.02, 0.3, 0.5, 0.9, 0.999999})
    EXPECT_NEAR(normal_cdf(normal_quantile(p)) / p, 1, 1e-9);
}

TEST(NormalTest, TruncatedQuantilesStayInside) {
  for (const auto& [a, b] : {std::pair{-1.0, 2.0}, {5.0, 6.0}, {-9.0, -8.0}, {30.0, 31.0}, {-0.001, 0.001}})
    for (const double q : {0.0, 0.25, 0.999}) {
      const double x = truncated_normal_quantile(q, a, b);
      EXPECT_GE(x, a);
      EXPECT_LE(x, b);
    }
  EXPECT_NEAR(truncated_normal_quantile(0.5, -1, 1), 0, 1e-12);
}

TEST(NormalTest, MassIsFiniteAlsoFarOut) {
  EXPECT_NEAR(log_normal_mass(-1, 1), std::log(0.6826894921), 1e-9);
  EXPECT_NEAR(log_normal_mass(8, 9), log_normal_mass(-9, -8), 1e-9);
  EXPECT_TRUE(std::isfinite(log_normal_mass(50, 51)));
}

}  // namespace
}  // namespace longship::study
