// SPDX-License-Identifier: Apache-2.0
// The samplers that learn: their parts are right, and they find what is to be found.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>

#include "study/cma.h"
#include "study/descent.h"
#include "study/gaussian.h"
#include "study/improvement.h"
#include "study/pareto.h"
#include "study/study.h"

namespace longship::study {
namespace {

TEST(DescentTest, FindsTheMinimumOfACurvedValley) {
  const auto rosenbrock = [](std::span<const double> x, std::span<double> gradient) {
    gradient[0] = -400 * x[0] * (x[1] - x[0] * x[0]) - 2 * (1 - x[0]);
    gradient[1] = 200 * (x[1] - x[0] * x[0]);
    return 100 * std::pow(x[1] - x[0] * x[0], 2) + std::pow(1 - x[0], 2);
  };
  std::vector<double> x{-1.2, 1};
  EXPECT_LT(descend(rosenbrock, {{-2, -2}, {2, 2}}, x, {300, 1e-8}), 1e-10);
  EXPECT_NEAR(x[0], 1, 1e-4);
}

TEST(DescentTest, StopsAtTheWall) {
  const auto slope = [](std::span<const double> x, std::span<double> gradient) {
    gradient[0] = 1;
    gradient[1] = 2 * (x[1] - 0.3);
    return x[0] + std::pow(x[1] - 0.3, 2);
  };
  std::vector<double> x{0.7, 0.9};
  descend(slope, {{0, 0}, {1, 1}}, x);
  EXPECT_EQ(x[0], 0);
  EXPECT_NEAR(x[1], 0.3, 1e-5);
}

struct Sample {
  std::vector<double> points, targets;
};

Sample of_a_wave(std::size_t count) {
  Sample sample;
  Random random({3});
  for (std::size_t i = 0; i < count; ++i) {
    const double x = random.uniform(), y = random.uniform(), net = static_cast<double>(i % 3);
    sample.points.insert(sample.points.end(), {x, y, net});
    sample.targets.push_back(std::sin(5 * x) + y * y + 0.3 * net - 1);
  }
  return sample;
}

TEST(GaussianTest, GradientOfThePosteriorIsItsSlope) {
  GaussianProcess process({false, false, true});
  const auto sample = of_a_wave(15);
  process.know(sample.points, sample.targets);
  std::vector<double> at{0.7, -0.4, 0.2, 0.1, -0.5, 0.9, -4}, gradient(7), ignored(7);
  (void)process.log_posterior(at, gradient);
  for (std::size_t i = 0; i < at.size(); ++i) {
    auto above = at, below = at;
    above[i] += 1e-5;
    below[i] -= 1e-5;
    const double slope =
        (process.log_posterior(above, ignored) - process.log_posterior(below, ignored)) / 2e-5;
    EXPECT_NEAR(gradient[i], slope, 1e-4 * (1 + std::abs(slope))) << i;
  }
}

TEST(GaussianTest, PassesThroughWhatIsKnownAndForeseesTheRest) {
  GaussianProcess process({false, false, true});
  const auto sample = of_a_wave(60);
  process.know(sample.points, sample.targets);
  process.fit(80, true);
  for (std::size_t i = 0; i < 60; i += 7)
    EXPECT_NEAR(process.predict(std::span(sample.points).subspan(3 * i, 3), false).mean, sample.targets[i],
                1e-2);
  EXPECT_NEAR(process.predict(std::vector{0.5, 0.5, 1.0}, false).mean, std::sin(2.5) + 0.25 + 0.3 - 1, 0.05);
}

TEST(GaussianTest, SlopesOfThePredictionAreRight) {
  GaussianProcess process({false, false, true});
  const auto sample = of_a_wave(20);
  process.know(sample.points, sample.targets);
  const std::vector<double> at{0.31, 0.62, 1};
  const auto here = process.predict(at, true);
  for (std::size_t i = 0; i < 2; ++i) {
    auto above = at, below = at;
    above[i] += 1e-5;
    below[i] -= 1e-5;
    const auto up = process.predict(above, false), down = process.predict(below, false);
    EXPECT_NEAR(here.mean_slope[i], (up.mean - down.mean) / 2e-5, 1e-3);
    EXPECT_NEAR(here.deviation_slope[i], (up.deviation - down.deviation) / 2e-5, 1e-3);
  }
  const auto all = process.predict_all(at);
  EXPECT_NEAR(all[0].mean, here.mean, 1e-9);
  EXPECT_NEAR(all[0].deviation, here.deviation, 1e-9);
}

TEST(GaussianTest, LearnsWhatEachDimensionDoesByItself) {
  const auto waves = [](std::span<const double> x) {
    double sum = 0;
    for (const double each : x) sum += std::sin(14 * each);
    return sum / 1.6;
  };
  GaussianProcess process(std::vector<bool>(5, false));
  std::vector<double> points, targets;
  Random random({9});
  for (int i = 0; i < 90; ++i) {  // in five dimensions none is near another
    std::vector<double> x(5);
    for (auto& each : x) each = random.uniform();
    points.insert(points.end(), x.begin(), x.end());
    targets.push_back(waves(x));
  }
  process.know(points, targets);
  process.fit(120, true);
  double error = 0;
  for (int i = 0; i < 50; ++i) {
    std::vector<double> x(5);
    for (auto& each : x) each = random.uniform();
    error += std::pow(process.predict(x, false).mean - waves(x), 2) / 50;
  }
  EXPECT_LT(error, 0.1);  // of a variance of 1
}

TEST(GaussianTest, TheWaryOneDoubtsThatAnythingDoesNotMatter) {
  GaussianProcess process({false, false});
  std::vector<double> points, targets;
  Random random({5});
  for (int i = 0; i < 30; ++i) {  // the second is never seen to matter, and was hardly varied
    points.insert(points.end(), {random.uniform(), 0.1 * random.uniform()});
    targets.push_back(std::sin(6 * points[points.size() - 2]));
  }
  process.know(points, targets);
  process.fit(80, true);
  const std::vector<double> known{points[0], points[1]}, elsewhere{points[0], 0.9};
  const auto wary = process.wary(0.5);
  EXPECT_GT(wary.predict(elsewhere, false).deviation, 2 * process.predict(elsewhere, false).deviation);
  EXPECT_NEAR(wary.predict(known, false).mean, targets[0], 1e-2);
  EXPECT_EQ(process.wary(1e9).logs(), process.logs());
}

TEST(ImprovementTest, IsTheIntegralItStandsFor) {
  for (const double mean : {-2.0, 0.0, 1.0, 3.0}) {
    double sum = 0;
    for (int i = 0; i < 400000; ++i) {
      const double z = -10 + i * 5e-5;
      sum += std::max(0.0, 0.5 - (mean + z)) * std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi) * 5e-5;
    }
    EXPECT_NEAR(log_expected_improvement(0.5, mean, 1).log, std::log(sum), 1e-3) << mean;
  }
}

TEST(ImprovementTest, SlopesAreRightEverywhere) {
  for (const double mean : {-7.0, 0.0, 5.0, 19.0, 21.0, 60.0}) {
    const auto here = log_expected_improvement(0, mean, 1);
    const double h = 1e-5;
    const double by_mean =
        (log_expected_improvement(0, mean + h, 1).log - log_expected_improvement(0, mean - h, 1).log) /
        (2 * h);
    const double by_deviation =
        (log_expected_improvement(0, mean, 1 + h).log - log_expected_improvement(0, mean, 1 - h).log) /
        (2 * h);
    EXPECT_NEAR(here.by_mean / by_mean, 1, 1e-3) << mean;
    if (mean > -6) {
      EXPECT_NEAR(here.by_deviation / by_deviation, 1, 1e-3) << mean;
    }
  }
}

std::vector<double> normals(std::size_t count, Random& random) {
  std::vector<double> all(count);
  for (auto& value : all) value = random.normal();
  return all;
}

TEST(CmaTest, GoesDownAnEllipsoid) {
  const std::size_t n = 6;
  Cma cma(std::vector<double>(n, 0.5), 0.2, usual_population(n));
  Random random({1});
  double best = HUGE_VAL;
  for (int generation = 0; generation < 250; ++generation) {
    std::vector<Cma::Result> results;
    for (std::size_t i = 0; i < cma.population(); ++i) {
      auto x = cma.sample(normals(n, random), random);
      double loss = 0;
      for (std::size_t k = 0; k < n; ++k)
        loss += std::pow(10.0, static_cast<double>(k)) * std::pow(x[k] - 0.3, 2);
      best = std::min(best, loss);
      results.push_back({loss, std::move(x)});
    }
    cma.update(std::move(results));
  }
  EXPECT_LT(best, 1e-8);
}

TEST(CmaTest, IsDoneWhenNothingChanges) {
  Cma cma({0.5, 0.5}, 0.2, 6);
  Random random({1});
  int generations = 0;
  for (; !cma.is_done() && generations < 500; ++generations) {
    std::vector<Cma::Result> results;
    for (std::size_t i = 0; i < cma.population(); ++i)
      results.push_back({1, cma.sample(normals(2, random), random)});
    cma.update(std::move(results));
  }
  EXPECT_LT(generations, 500);
}

TEST(CmaTest, BeginsAnewElsewhereWithTwiceThePopulationWhenNothingChanges) {
  Study study(std::vector<std::uint8_t>{0});
  study.use(make_sampler("cmaes", 1, Options("population=6")));
  const auto x = study.parameter("x", real(0, 1)), y = study.parameter("y", real(0, 1));
  std::map<std::int64_t, int> sizes;
  for (int i = 0; i < 700; ++i) {
    const auto number = study.ask(1);
    static_cast<void>(study.suggest(number, x) + study.suggest(number, y));
    study.tell(number, TrialState::complete, {1}, 2);
    ++sizes[study.history().trial(number).generation];
  }
  EXPECT_EQ(sizes.at(0), 6);
  const auto later = std::find_if(sizes.begin(), sizes.end(), [](auto& size) { return size.second == 12; });
  ASSERT_NE(later, sizes.end());
  for (auto generation = later; std::next(generation) != sizes.end(); ++generation)  // never small again
    EXPECT_GE(generation->second, 12) << generation->first;
}

TEST(CmaTest, EveryTrialCountsOnceInItsGeneration) {
  Study study(std::vector<std::uint8_t>{0});
  study.use(make_sampler("cmaes", 1, Options("population=6")));
  const auto x = study.parameter("x", real(0, 1)), y = study.parameter("y", real(0, 1));
  for (int i = 0; i < 19; ++i) {
    const auto number = study.ask(1);
    const double loss = study.suggest(number, x) + study.suggest(number, y);
    study.tell(number, TrialState::complete, {loss}, 2);
    study.note(number, {false, "changed", "1"});
    EXPECT_EQ(study.history().trial(number).generation, i == 0 ? -1 : (i - 1) / 6) << i;
  }
}

TEST(CmaTest, WhatWasTriedIsNotTriedAgain) {
  Study study(std::vector<std::uint8_t>{0});
  study.use(make_sampler("cmaes", 1));
  const auto a = study.parameter("a", integer(0, 7)), b = study.parameter("b", integer(0, 5)),
             net = study.parameter("net", category({"x", "y"}));
  std::set<std::vector<double>> seen;
  for (int i = 0; i < 20; ++i) {
    std::vector<TrialNumber> batch;  // also what runs counts as tried
    for (int k = 0; k < 2; ++k) batch.push_back(study.ask(1));
    for (const auto number : batch) {
      std::vector point{study.suggest(number, a), study.suggest(number, b), study.suggest(number, net)};
      if (i > 0) {  // the first two are drawn by chance
        EXPECT_TRUE(seen.insert(point).second) << "trial " << number;
      }
      const double loss = std::abs(point[0] - 5) + std::abs(point[1] - 2) + point[2];
      study.tell(number, TrialState::complete, {loss}, 2);
    }
  }
}

double best_of(const char* sampler, int trials, std::uint64_t seed, bool several_at_once = false,
               std::string_view options = "") {
  Study study(std::vector<std::uint8_t>{0});
  study.use(make_sampler(sampler, seed, Options(options)));
  const auto x = study.parameter("x", real(-5, 10)), y = study.parameter("y", real(0, 15));
  const auto branin = [](double a, double b) {
    return std::pow(
               b - 5.1 / (4 * std::numbers::pi * std::numbers::pi) * a * a + 5 / std::numbers::pi * a - 6,
               2) +
           10 * (1 - 1 / (8 * std::numbers::pi)) * std::cos(a) + 10;
  };
  for (int i = 0; i < trials; i += several_at_once ? 4 : 1) {
    std::vector<TrialNumber> batch;
    for (int k = 0; k < (several_at_once ? 4 : 1); ++k) batch.push_back(study.ask(1));
    for (const auto number : batch)
      study.tell(number, TrialState::complete, {branin(study.suggest(number, x), study.suggest(number, y))},
                 2);
  }
  return study.history().trial(best_trials(study.history())[0]).values[0] - 0.397887;
}

double median_regret(const char* sampler, int trials, bool several_at_once = false) {
  std::vector<double> regrets;
  for (std::uint64_t seed = 0; seed < 5; ++seed)
    regrets.push_back(best_of(sampler, trials, seed, several_at_once));
  std::nth_element(regrets.begin(), regrets.begin() + 2, regrets.end());
  return regrets[2];
}

TEST(SearchTest,
     LearningBeatsChance) {  // bounds are ten times what was seen, so that only a mistake reaches them
  EXPECT_LT(median_regret("tpe", 100), 0.4);
  EXPECT_LT(median_regret("gp", 40), 0.01);
  EXPECT_LT(median_regret("cmaes", 150), 0.1);
  EXPECT_LT(median_regret("auto", 40), 0.01);
}

// What this sampler gives the next trial after so many of a bowl.
std::vector<double> next_after(int trials, const char* sampler) {
  Study study(std::vector<std::uint8_t>{0});
  study.use(make_sampler(sampler, 7, Options("")));
  const auto x = study.parameter("x", real(0, 1)), y = study.parameter("y", real(0, 1));
  for (int i = 0; i < trials; ++i) {
    Trial trial;
    trial.point = {{x, std::fmod(0.37 * i, 1)}, {y, std::fmod(0.61 * i, 1)}};
    trial.state = TrialState::complete;
    trial.values = {trial.point[0].value * trial.point[0].value + trial.point[1].value};
    study.add(std::move(trial));
  }
  const auto number = study.ask(1);
  return {study.suggest(number, x), study.suggest(number, y)};
}

TEST(SearchTest, AutoGivesEveryFourthTrialToTpe) {
  for (const int trials : {30, 31, 32, 33})
    EXPECT_EQ(next_after(trials, "auto"), next_after(trials, trials % 4 == 1 ? "tpe" : "gp")) << trials;
  EXPECT_NE(next_after(33, "tpe"), next_after(33, "gp"));
}

// A wide hollow, and a narrow one that is deeper; trials lie around the wide one, and one in the other.
double two_hollows(double x, double y) {
  const auto hollow = [&](double a, double b, double width) {
    return std::exp(-(std::pow(x - a, 2) + std::pow(y - b, 2)) / width / width);
  };
  return 10 - 2 * hollow(0.25, 0.25, 0.4) - 3 * hollow(0.8, 0.8, 0.1);
}

TEST(SearchTest, AnotherBasinIsNotForgotten) {
  for (const char* sampler : {"tpe", "gp"}) {
    int deeper = 0;
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      Study study(std::vector<std::uint8_t>{0});
      study.use(make_sampler(sampler, seed));
      const auto x = study.parameter("x", real(0, 1)), y = study.parameter("y", real(0, 1));
      const auto add = [&](double a, double b) {
        Trial trial;
        trial.point = {{x, a}, {y, b}};
        trial.state = TrialState::complete;
        trial.values = {two_hollows(a, b)};
        study.add(std::move(trial));
      };
      for (int i = 0; i < 15; ++i) add(0.5 * std::fmod(0.37 * i, 1), 0.5 * std::fmod(0.61 * i, 1));
      add(0.86, 0.76);
      double best = 10;
      for (int i = 0; i < 30; ++i) {
        const auto number = study.ask(1);
        const double loss = two_hollows(study.suggest(number, x), study.suggest(number, y));
        study.tell(number, TrialState::complete, {loss}, 2);
        best = std::min(best, loss);
      }
      deeper += best < 7.8 ? 1 : 0;  // the wide one ends at 8
    }
    EXPECT_GE(deeper, 4) << sampler;
  }
}

TEST(SearchTest, TheBestOfTheGoodTrialsCountsMost) {
  int near_best = 0, near_second = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Study study(std::vector<std::uint8_t>{0});
    study.use(make_sampler("tpe", seed, Options("forecast=0")));  // the densities alone
    const auto x = study.parameter("x", real(0, 1));
    for (int i = 0; i < 20; ++i) {  // two are good, and all lie as in a mirror
      Trial trial;
      trial.point = {{x, i < 2 ? 0.2 + 0.6 * i : 0.05 + 0.9 / 17 * (i - 2)}};
      trial.state = TrialState::complete;
      trial.values = {i < 2 ? i : 10.0};
      study.add(std::move(trial));
    }
    const double value = study.suggest(study.ask(1), x);
    near_best += std::abs(value - 0.2) < 0.2 ? 1 : 0;
    near_second += std::abs(value - 0.8) < 0.2 ? 1 : 0;
  }
  EXPECT_GT(near_best, 3 * near_second);
}

TEST(SearchTest, AForecastBringsNearer) {
  int nearer = 0;
  for (std::uint64_t seed = 0; seed < 15; ++seed)
    nearer += best_of("tpe", 50, seed, false) < best_of("tpe", 50, seed, false, "forecast=0") ? 1 : 0;
  EXPECT_GE(nearer, 9);
}

TEST(SearchTest, WhatViolatesAConstraintIsLeftAlone) {
  Study study(std::vector<std::uint8_t>{0});
  study.use(make_sampler("tpe", 1));
  const auto x = study.parameter("x", real(0, 1)), y = study.parameter("y", real(0, 1));
  int violations = 0;
  for (int i = 0; i < 60; ++i) {
    const auto number = study.ask(1);
    const double a = study.suggest(number, x), b = study.suggest(number, y);
    study.constrain(number, {0.4 - a});  // the least value that is allowed lies at the border
    study.tell(number, TrialState::complete, {a + b * b}, 2);
    violations += i >= 30 && a < 0.4 ? 1 : 0;
  }
  EXPECT_LT(violations, 15);
  EXPECT_LT(study.history().trial(best_trials(study.history())[0]).values[0], 0.45);
}

TEST(SearchTest, WhatWasTriedIsNotTriedAgain) {
  Study study(std::vector<std::uint8_t>{0});
  study.use(make_sampler("tpe", 1, Options("startup=8")));
  const auto n = study.parameter("n", integer(0, 15)),
             net = study.parameter("net", category({"a", "b", "c"})),
             only = study.parameter("only", real(2, 2));
  std::map<std::pair<double, double>, int> seen;
  for (int i = 0; i < 24; ++i) {
    const auto number = study.ask(1);
    const std::pair point{study.suggest(number, n), study.suggest(number, net)};
    static_cast<void>(study.suggest(number, only));
    if (i >= 8) {
      EXPECT_EQ(seen[point], 0) << "trial " << i;
    }
    ++seen[point];
    // Also not what failed.
    const bool fails = i % 5 == 4;
    study.tell(number, fails ? TrialState::failed : TrialState::complete,
               fails ? std::vector<double>{} : std::vector{std::abs(point.first - 5) + point.second}, 2);
  }
  for (int i = 0; i < 100; ++i) {
    const auto number = study.ask(1);
    ++seen[{study.suggest(number, n), study.suggest(number, net)}];
    study.tell(number, TrialState::complete, {1}, 2);
  }
  EXPECT_EQ(seen.size(), 48u);  // and where nothing is left it goes on all the same
}

TEST(SearchTest, ADimensionOfItsOwnMayRepeatItsValues) {  // the rest of the trial is another one
  Study study(std::vector<std::uint8_t>{0});
  study.use(make_sampler("tpe", 1));
  const auto kind = study.parameter("kind", category({"a", "b"})), x = study.parameter("x", real(0, 1));
  int chosen = 0;
  for (int i = 0; i < 40; ++i) {
    const auto number = study.ask(1);
    const double value = study.suggest(number, kind);
    study.tell(number, TrialState::complete, {value + study.suggest(number, x)}, 2);
    chosen += i >= 10 && value == 0 ? 1 : 0;
  }
  EXPECT_GT(chosen, 20);
}

TEST(SearchTest, FourAtOnceAreNearlyAsGood) {
  EXPECT_LT(median_regret("tpe", 100, true), 0.6);
  EXPECT_LT(median_regret("gp", 48, true), 0.05);
}

TEST(SearchTest, ParallelTrialsDoNotGoToTheSamePlace) {
  for (const char* sampler : {"tpe", "gp"}) {
    Study study(std::vector<std::uint8_t>{0});
    study.use(make_sampler(sampler, 1));
    const auto n = study.parameter("n", integer(0, 40));
    for (int i = 0; i < 15; ++i) {
      const auto number = study.ask(1);
      study.tell(number, TrialState::complete, {std::abs(study.suggest(number, n) - 20)}, 2);
    }
    std::set<double> places;
    for (int i = 0; i < 8; ++i) places.insert(study.suggest(study.ask(1), n));
    EXPECT_GE(places.size(), 4) << sampler;
  }
}

TEST(SearchTest, SeveralObjectivesFindTheFront) {
  for (const char* sampler : {"tpe", "nsga2", "auto"}) {
    Study study(std::vector<std::uint8_t>{0, 0});
    study.use(make_sampler(sampler, 1));
    const auto x = study.parameter("x", real(-5, 5)), y = study.parameter("y", real(-5, 5));
    for (int i = 0; i < 200; ++i) {
      const auto number = study.ask(1);
      const double a = study.suggest(number, x), b = study.suggest(number, y);
      study.tell(number, TrialState::complete, {a * a + b * b, (a - 2) * (a - 2) + b * b}, 2);
    }
    std::size_t near = 0;
    for (const auto number : best_trials(study.history()))
      near += std::abs(study.history().trial(number).point[1].value) < 0.5 ? 1 : 0;
    EXPECT_GE(near, 8) << sampler;
  }
}

}  // namespace
}  // namespace longship::study
