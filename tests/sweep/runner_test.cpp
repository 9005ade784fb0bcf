// SPDX-License-Identifier: Apache-2.0
#include "sweep/runner.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"

namespace longship::sweep {
namespace {

// Goes away at each n-th call, before or after the trial was started.
class Unsteady : public Runner {
 public:
  std::string start(const Start& start) override {
    fail_sometimes();
    running_.insert(start.trial);
    ++starts_[start.trial];
    fail_sometimes();
    return "job-" + std::to_string(start.trial);
  }
  void stop(study::TrialNumber) override {}
  std::vector<Heard> listen(std::chrono::milliseconds) override {
    fail_sometimes();
    std::vector<Heard> heard;
    for (const auto trial : running_) heard.emplace_back(Ended{trial, Ending::finished, {1}, "", 1});
    running_.clear();
    return heard;
  }

  std::map<study::TrialNumber, int> starts_;

 private:
  void fail_sometimes() {
    if (++calls_ % 5 == 0) throw Error("nobody answers");
  }
  int calls_ = 0;
  std::set<study::TrialNumber> running_;
};

TEST(LoopTest, WhatWasDecidedIsDoneThoughTheRunnerGoesAway) {
  const auto file = parse_study_file(
      "version = 1\nname = \"s\"\ncommand = [\"c\"]\nobjective = {}\nparallel = 4\n[budget]\ntrials = 40\n"
      "[space]\nx = { low = 0.0, high = 1.0 }\n",
      "study.toml", "/tmp");
  study::Study study(directions(file));
  Engine engine(study, file, 1, 1);
  Unsteady runner;
  Loop loop(engine, runner);
  int failures = 0;
  while (!engine.is_done()) {
    ASSERT_LT(failures, 1000);
    try {
      loop.turn([] { return 1.0; }, std::chrono::milliseconds(0));
    } catch (const Error&) {
      ++failures;
    }
  }
  EXPECT_GT(failures, 5);
  EXPECT_EQ(engine.counts().complete, 40u);
  EXPECT_EQ(runner.starts_.size(), 40u);
}

}  // namespace
}  // namespace longship::sweep
