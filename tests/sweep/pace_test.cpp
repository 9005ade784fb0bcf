// SPDX-License-Identifier: Apache-2.0
#include "sweep/pace.h"

#include <gtest/gtest.h>

#include "sweep/prepare.h"

namespace longship::sweep {
namespace {

using study::TrialState;

StudyFile file_of(const std::string& keys) {
  return parse_study_file(
      "version = 1\nname = \"s\"\ncommand = [\"c\"]\nobjective = { metric = \"loss\" }\n" + keys +
          "\n[space]\nx = { low = 0.0, high = 1.0 }\n",
      "study.toml", "/tmp");
}

// Trials that took so many seconds each, one after the other, and some that run.
study::Study study_of(const std::vector<double>& took, int running) {
  study::Study study(std::vector<std::uint8_t>{0});
  study.use(study::make_sampler("random", 1));
  double now = 1000;
  for (const double seconds : took) {
    const auto number = study.ask(now);
    study.tell(number, TrialState::complete, {1}, now += seconds);
  }
  for (int i = 0; i < running; ++i) static_cast<void>(study.ask(now));
  return study;
}

TEST(PaceTest, WhatIsLeftTakesAsLongAsTheLastOnesDidSharedByThoseThatRun) {
  std::vector<double> took(30, 1);
  std::fill(took.end() - 20, took.end(), 6);
  const auto pace = pace_of(study_of(took, 2).history(), file_of("[budget]\ntrials = 40"));
  EXPECT_EQ(pace.over, 30u);
  EXPECT_EQ(pace.expected, 40u);
  EXPECT_NEAR(pace.left.value(), 10 * 6 / 2.0, 1e-9);
}

TEST(PaceTest, NothingIsForeseenWithoutABudgetOfTrialsOrOfWhatDoesNotRun) {
  const std::vector<double> took(5, 1);
  EXPECT_FALSE(pace_of(study_of(took, 1).history(), file_of("[budget]\ntime = \"100s\"")).left);
  EXPECT_FALSE(pace_of(study_of(took, 0).history(), file_of("[budget]\ntrials = 9")).left);
  EXPECT_FALSE(pace_of(study_of({1, 1}, 1).history(), file_of("[budget]\ntrials = 9")).left);
  EXPECT_FALSE(pace_of(study_of(took, 1).history(), file_of("[budget]\ntrials = 5")).left);
}

TEST(PaceTest, WhatBrokeARuleOrCameFromAnEarlierStudyDoesNotCount) {
  auto study = study_of({1, 1, 1, 1}, 1);
  study.note(0, {true, remark::rejected, "\"x < 1\""});
  study.note(1, {true, remark::taken_from, "7"});
  EXPECT_EQ(pace_of(study.history(), file_of("[budget]\ntrials = 9")).over, 2u);
}

TEST(PaceTest, AScanEndsWithItsLastPoint) {
  study::Study study(std::vector<std::uint8_t>{0});
  const auto file = file_of("sampler = { name = \"grid\", points = 5 }");
  study.use(study::make_sampler("grid", 1, study::Options("points=5")));
  static_cast<void>(prepare(study, file));
  EXPECT_EQ(pace_of(study.history(), file).expected, 5u);
}

}  // namespace
}  // namespace longship::sweep
