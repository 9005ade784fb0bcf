// SPDX-License-Identifier: Apache-2.0
#include "study/forecast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/random.h"

namespace longship::study {
namespace {

using Function = std::function<double(double, double)>;

const std::vector<Axis> square{Axis(real(0, 1)), Axis(real(0, 1))};

Known trials_of(const Function& function, std::size_t count, double from = 0, double to = 1) {
  Known known;
  Random random({5});
  for (std::size_t i = 0; i < count; ++i) {
    const double x = from + (to - from) * random.uniform(), y = from + (to - from) * random.uniform();
    known.points.insert(known.points.end(), {x, y});
    known.losses.push_back(function(x, y));
  }
  return known;
}

double bowl(double x, double y) {
  return std::pow(x - 0.3, 2) + std::pow(y - 0.6, 2);
}

std::vector<double> promising(const std::vector<Axis>& axes, const Known& known,
                              const std::vector<double>& places) {
  const auto improvements = log_improvements(axes, known, places);
  const auto best = static_cast<std::size_t>(std::max_element(improvements.begin(), improvements.end()) -
                                             improvements.begin());
  const auto begin = places.begin() + static_cast<std::ptrdiff_t>(best * axes.size());
  return {begin, begin + static_cast<std::ptrdiff_t>(axes.size())};
}

std::vector<double> grid(double from, double to) {
  std::vector<double> places;
  for (int i = 0; i <= 20; ++i)
    for (int k = 0; k <= 20; ++k)
      places.insert(places.end(), {from + (to - from) * i / 20, from + (to - from) * k / 20});
  return places;
}

TEST(ForecastTest, ThePromisingPlaceIsNearTheMinimum) {
  const auto place = promising(square, trials_of(bowl, 25), grid(0, 1));
  EXPECT_NEAR(place[0], 0.3, 0.1);
  EXPECT_NEAR(place[1], 0.6, 0.1);
}

TEST(ForecastTest, TrialsCloseTogetherAreAMapOfTheirCorner) {
  const auto hollow = [](double x, double y) { return std::pow(x - 0.455, 2) + std::pow(y - 0.452, 2); };
  const auto place = promising(square, trials_of(hollow, 25, 0.45, 0.46), grid(0.45, 0.46));
  EXPECT_NEAR(place[0], 0.455, 0.001);
  EXPECT_NEAR(place[1], 0.452, 0.001);
}

TEST(ForecastTest, ACornerOfTerribleLossesHidesNothing) {
  const auto cliff = [](double x, double y) { return bowl(x, y) + (x > 0.8 ? 1000 * (x - 0.8) : 0); };
  const auto place = promising(square, trials_of(cliff, 25), grid(0, 1));
  EXPECT_NEAR(place[0], 0.3, 0.15);
  EXPECT_NEAR(place[1], 0.6, 0.15);
}

TEST(ForecastTest, NeitherScaleNorOriginOfTheLossesMatters) {
  const auto known = trials_of(bowl, 20);
  auto shifted = known;
  for (auto& loss : shifted.losses) loss = 1000 * loss - 7;
  const auto places = grid(0, 1);
  const auto one = log_improvements(square, known, places), other = log_improvements(square, shifted, places);
  for (std::size_t i = 0; i < one.size(); i += 17)
    EXPECT_NEAR(one[i], other[i], 1e-4 * (1 + std::abs(one[i])));
}

TEST(ForecastTest, WhereATrialWasThereIsLittleToGain) {
  const auto known = trials_of(bowl, 20);
  const auto there = log_improvements(square, known, known.points);
  const auto anywhere = log_improvements(square, known, grid(0, 1));
  EXPECT_LT(*std::max_element(there.begin(), there.end()),
            *std::max_element(anywhere.begin(), anywhere.end()) - 1);
}

TEST(ForecastTest, ARivalIsEasierToImproveOn) {
  auto known = trials_of(bowl, 20);
  const auto places = grid(0, 1);
  const auto best = log_improvements(square, known, places);
  known.rival = static_cast<std::size_t>(std::max_element(known.losses.begin(), known.losses.end()) -
                                         known.losses.begin());
  const auto rival = log_improvements(square, known, places);
  for (std::size_t i = 0; i < best.size(); ++i) EXPECT_GT(rival[i], best[i]);
}

TEST(ForecastTest, ChoicesAreToldApart) {
  const std::vector<Axis> axes{Axis(category({"a", "b", "c"})), Axis(real(0, 1))};
  Known known;
  Random random({6});
  for (int i = 0; i < 24; ++i) {
    const double net = i % 3, x = random.uniform();
    known.points.insert(known.points.end(), {net, x});
    known.losses.push_back((net == 1 ? 0 : 1) + std::pow(x - 0.5, 2));
  }
  const auto place = promising(axes, known, {0, 0.5, 1, 0.45, 2, 0.5, 1, 0.95});
  EXPECT_EQ(place, (std::vector{1, 0.45}));
}

TEST(ForecastTest, NothingIsForetoldOfNothing) {
  const std::vector<double> place{0.5, 0.5};
  EXPECT_TRUE(log_improvements(square, {}, place).empty());
  EXPECT_TRUE(log_improvements(square, trials_of(bowl, 2), place).empty());
  EXPECT_TRUE(log_improvements(square, trials_of([](double, double) { return 3; }, 9), place).empty());
  for (const double loss : {HUGE_VAL, -HUGE_VAL}) {
    auto known = trials_of(bowl, 9);
    known.losses[4] = loss;
    EXPECT_TRUE(log_improvements(square, known, place).empty());
  }
}

TEST(ForecastTest, TheSamePointManyTimesIsNoMistake) {
  Known known = trials_of(bowl, 9);
  for (int i = 0; i < 30; ++i) {
    known.points.insert(known.points.end(), {0.25, 0.5});
    known.losses.push_back(bowl(0.25, 0.5) + 0.01 * (i % 2));
  }
  for (const double improvement : log_improvements(square, known, grid(0, 1)))
    EXPECT_TRUE(std::isfinite(improvement));
}

}  // namespace
}  // namespace longship::study
