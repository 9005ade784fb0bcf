// SPDX-License-Identifier: Apache-2.0
// What holds for every sampler, and what is special for the simple ones.
#include "study/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/random.h"
#include "expect.h"
#include "study/simple_samplers.h"
#include "study/sobol.h"
#include "study/study.h"

namespace longship::study {
namespace {

// Carries out trials of a study whose parameters are of every kind.
struct Voyage {
  explicit Voyage(std::string_view sampler, std::uint64_t seed = 1) : study(std::vector<std::uint8_t>{0}) {
    begin(sampler, seed);
  }
  Voyage(std::string_view sampler, std::uint64_t seed, const std::filesystem::path& journal)
      : study(journal, "voyage", {0}) {
    begin(sampler, seed);
  }
  void begin(std::string_view sampler, std::uint64_t seed) {
    study.use(make_sampler(sampler, seed));
    ids = {study.parameter("x", real(-5, 10)),
           study.parameter("lr", real(1e-5, 1, true)),
           study.parameter("half", real(0, 3, false, 0.5)),
           study.parameter("n", integer(1, 6)),
           study.parameter("width", integer(1, 4096, true)),
           study.parameter("net", category({"a", "b", "c"})),
           study.parameter("only", real(2, 2))};
  }

  std::vector<double> step() {
    const auto number = study.ask(1);
    std::vector<double> values;
    for (const auto id : ids) values.push_back(study.suggest(number, id));
    const double loss = std::pow(values[0] - 2, 2) + std::pow(std::log10(values[1]) + 3, 2) + values[5];
    study.tell(number, TrialState::complete, {loss}, 2);
    return values;
  }

  Study study;
  std::vector<ParameterId> ids;
};

class EverySamplerTest : public testing::TestWithParam<const char*> {};

TEST_P(EverySamplerTest, ValuesLieInTheirDomains) {
  Voyage voyage(GetParam());
  for (int i = 0; i < 60; ++i) {
    const auto values = voyage.step();
    for (std::size_t k = 0; k < values.size(); ++k)
      EXPECT_TRUE(contains(voyage.study.history().parameter(voyage.ids[k]).domain, values[k]))
          << "trial " << i << ", " << voyage.study.history().parameter(voyage.ids[k]).name << " = "
          << values[k];
  }
}

TEST_P(EverySamplerTest, SameSeedGivesTheSameStudy) {
  Voyage one(GetParam(), 3), two(GetParam(), 3);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(one.step(), two.step()) << i;
}

// Five at once, which end in an order of their own: what each was given, in the order of their beginning.
std::vector<double> in_parallel(Voyage& voyage, Random order) {
  std::vector<TrialNumber> open;
  std::vector<double> given;
  const auto end_one = [&] {
    const auto chosen = open.begin() + static_cast<std::ptrdiff_t>(order.below(open.size()));
    const auto& point = voyage.study.history().trial(*chosen).point;
    voyage.study.tell(*chosen, TrialState::complete, {std::abs(point[0].value) + point[3].value}, 2);
    open.erase(chosen);
  };
  for (int i = 0; i < 40; ++i) {
    open.push_back(voyage.study.ask(1));
    for (const auto id : voyage.ids) given.push_back(voyage.study.suggest(open.back(), id));
    if (open.size() == 5) end_one();
  }
  while (!open.empty()) end_one();
  return given;
}

TEST_P(EverySamplerTest, ParallelTrialsReplayedInTheSameOrderAreTheSame) {
  Voyage one(GetParam(), 3), two(GetParam(), 3);
  EXPECT_EQ(in_parallel(one, Random({7})), in_parallel(two, Random({7})));
}

TEST_P(EverySamplerTest, GoesOnWhereAnotherProcessStopped) {
  Voyage whole(GetParam(), 3);
  for (int i = 0; i < 25; ++i) whole.step();
  Voyage continued(GetParam(), 3);
  for (const auto& trial : whole.study.history().trials()) continued.study.add(trial);
  continued.step();
  EXPECT_EQ(continued.study.history().trials().back().number, 25);
}

TEST_P(EverySamplerTest, TrialsMayFailBePrunedOrNeverEnd) {
  Voyage voyage(GetParam());
  for (int i = 0; i < 40; ++i) {
    const auto number = voyage.study.ask(1);
    for (const auto id : voyage.ids) (void)voyage.study.suggest(number, id);
    if (i % 4 == 0) voyage.study.tell(number, TrialState::failed, {}, 2);
    if (i % 4 == 1) voyage.study.tell(number, TrialState::pruned, {}, 2);
    if (i % 4 == 2) voyage.study.tell(number, TrialState::complete, {i == 2 ? HUGE_VAL : i * 1.0}, 2);
  }
  EXPECT_EQ(voyage.step().size(), 7);
}

TEST_P(EverySamplerTest, AllValuesMayBeTheSame) {
  Voyage voyage(GetParam());
  for (int i = 0; i < 30; ++i) {
    const auto number = voyage.study.ask(1);
    for (const auto id : voyage.ids) (void)voyage.study.suggest(number, id);
    voyage.study.tell(number, TrialState::complete, {1}, 2);
  }
  EXPECT_EQ(voyage.step().size(), 7);
}

INSTANTIATE_TEST_SUITE_P(All, EverySamplerTest,
                         testing::Values("random", "sobol", "grid", "tpe", "gp", "cmaes", "nsga2", "auto"),
                         [](const auto& about) { return std::string(about.param); });

// All but the Gaussian process, which starts its search for lengths from the last ones, and nobody has
// written those down.
class ForgetfulSamplerTest : public testing::TestWithParam<const char*> {};

TEST_P(ForgetfulSamplerTest, ANewProcessChoosesWhatTheOldOneWouldHave) {
  const std::string name = GetParam();
  Voyage whole(name, 3);
  for (int i = 0; i < 30; ++i) (void)whole.step();
  const TemporaryDirectory place;
  for (int i = 0; i < 30; ++i) {
    Voyage again(name, 3, place.path() / "study");
    (void)again.step();
  }
  Voyage last(name, 3, place.path() / "study");
  for (std::size_t i = 0; i < 30; ++i)
    EXPECT_EQ(last.study.history().trials()[i].values, whole.study.history().trials()[i].values) << i;
}

INSTANTIATE_TEST_SUITE_P(All, ForgetfulSamplerTest,
                         testing::Values("random", "sobol", "grid", "tpe", "cmaes", "nsga2"),
                         [](const auto& about) { return std::string(about.param); });

TEST(SamplersTest, UnknownNameSuggestsAKnownOne) {
  EXPECT_EQ(message_of([] { (void)make_sampler("tpr", 0); }),
            "there is no sampler \"tpr\": did you mean \"tpe\"?");
}

TEST(SamplersTest, UnknownOptionIsAnError) {
  EXPECT_EQ(message_of([] { (void)make_sampler("tpe", 0, Options("start=3")); }),
            "the sampler tpe has no option \"start\"");
  EXPECT_EQ(message_of([] { (void)Options("startup=x"); }),
            "\"startup=x\" is no option: it looks like name=number");
  EXPECT_EQ(message_of([] { (void)make_sampler("tpe", 0, Options("startup=-1")); }),
            "startup has to be 1 or more, not -1");
}

TEST(SobolTest, FillsEveryIntervalOnce) {
  for (const std::uint32_t dimension : {0U, 1U, 17U, 63U}) {
    std::set<int> cells;
    for (std::uint32_t i = 0; i < 256; ++i) cells.insert(static_cast<int>(sobol(9, i, dimension) * 256));
    EXPECT_EQ(cells.size(), 256) << dimension;
  }
}

TEST(SobolTest, PairsOfDimensionsFillEverySquare) {
  for (std::uint32_t other = 1; other < 12; ++other) {
    std::set<std::pair<int, int>> cells;
    for (std::uint32_t i = 0; i < 4096; ++i)
      cells.insert({static_cast<int>(sobol(1, i, 0) * 16), static_cast<int>(sobol(1, i, other) * 16)});
    EXPECT_EQ(cells.size(), 256) << other;
  }
}

TEST(SobolTest, OtherSeedsGiveOtherPoints) {
  EXPECT_NE(sobol(1, 5, 2), sobol(2, 5, 2));
}

TEST(GridTest, VisitsEveryCombinationOnce) {
  Study study(std::vector<std::uint8_t>{0});
  study.use(make_sampler("grid", 0, Options("points=3")));
  const auto x = study.parameter("x", real(0, 1)), n = study.parameter("n", integer(1, 4)),
             net = study.parameter("net", category({"a", "b"}));
  std::set<std::vector<double>> seen;
  for (int i = 0; i < 24; ++i) {
    const auto number = study.ask(1);
    seen.insert({study.suggest(number, x), study.suggest(number, n), study.suggest(number, net)});
  }
  EXPECT_EQ(seen.size(), 24);
  EXPECT_TRUE(seen.contains({0.5, 4, 1}));
}

TEST(GridTest, OneParameterIsALinearScanWithItsEnds) {
  Study study(std::vector<std::uint8_t>{0});
  study.use(make_sampler("grid", 0, Options("points=5")));
  const auto lr = study.parameter("lr", real(1e-4, 1, true));
  for (const double expected : {1e-4, 1e-3, 1e-2, 1e-1, 1.0})
    EXPECT_NEAR(study.suggest(study.ask(1), lr), expected, 1e-9);
}

}  // namespace
}  // namespace longship::study
