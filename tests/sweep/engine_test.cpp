// SPDX-License-Identifier: Apache-2.0
#include "sweep/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "base/file.h"
#include "base/random.h"
#include "expect.h"
#include "study/pareto.h"

namespace longship::sweep {
namespace {

using study::TrialState;
using testing::HasSubstr;

StudyFile file_of(const std::string& keys, const std::string& space = "x = { low = 0.0, high = 1.0 }\n") {
  return parse_study_file(
      "version = 1\nname = \"s\"\ncommand = [\"c\"]\nobjective = { metric = \"loss\" }\n" + keys +
          "\n[space]\n" + space,
      "study.toml", "/tmp");
}

// Carries trials out in no time: each Start is answered.
struct Bench {
  explicit Bench(const StudyFile& study_file) : file(study_file), study(directions(file)) {}
  Bench(const StudyFile& study_file, const std::filesystem::path& directory)
      : file(study_file), study(directory, file.name, directions(file)) {}

  std::vector<Start> starts(Engine& engine) {
    std::vector<Start> found;
    for (const auto& action : engine.step(now))
      if (const auto* start = std::get_if<Start>(&action)) found.push_back(*start);
    return found;
  }
  void run(Engine& engine) {
    while (!engine.is_done())
      for (const auto& start : starts(engine)) {
        begun.push_back(start.trial);
        engine.hear(now, Ended{start.trial, Ending::finished, {start.values.find("x")->number()}, "", 1});
      }
  }

  StudyFile file;
  study::Study study;
  double now = 1;
  std::vector<study::TrialNumber> begun;
};

TEST(EngineTest, ABudgetOfTrialsIsKept) {
  Bench bench(file_of("parallel = 3\n[budget]\ntrials = 10"));
  Engine engine(bench.study, bench.file, 1, 1);
  EXPECT_EQ(bench.starts(engine).size(), 3u);
  EXPECT_TRUE(bench.starts(engine).empty());
  for (study::TrialNumber i = 0; i < 3; ++i) engine.hear(1, Ended{i, Ending::finished, {1}, "", 1});
  bench.run(engine);
  EXPECT_EQ(engine.counts().complete, 10u);
  EXPECT_EQ(bench.study.history().finished_count(), 10u);
}

TEST(EngineTest, AStudyWithoutAnEndIsRefused) {
  Bench bench(file_of(""));
  EXPECT_THAT(message_of([&] { Engine(bench.study, bench.file, 1, 1); }),
              HasSubstr("has no end: give it a budget"));
}

TEST(EngineTest, ABudgetOfTimeEndsBeginningAndWaitsForTheRest) {
  Bench bench(file_of("parallel = 2\n[budget]\ntime = \"100s\""));
  Engine engine(bench.study, bench.file, 1, 1000);
  bench.now = 1000;
  EXPECT_EQ(bench.starts(engine).size(), 2u);
  bench.now = 1100;
  engine.hear(bench.now, Ended{0, Ending::finished, {1}, "", 1});
  EXPECT_TRUE(bench.starts(engine).empty());
  EXPECT_FALSE(engine.is_done());
  engine.hear(bench.now, Ended{1, Ending::finished, {1}, "", 1});
  EXPECT_TRUE(bench.starts(engine).empty());
  EXPECT_TRUE(engine.is_done());
}

TEST(EngineTest, NodeHoursCountWhatRunsToo) {
  Bench bench(file_of("parallel = 2\n[budget]\nnode_hours = 2"));
  Engine engine(bench.study, bench.file, 2, 0);
  bench.now = 0;
  EXPECT_EQ(bench.starts(engine).size(), 2u);
  bench.now = 1000;  // 2 trials x 2 nodes
  engine.hear(bench.now, Ended{0, Ending::finished, {1}, "", 2000});
  EXPECT_EQ(bench.starts(engine).size(), 1u);  // 2000 spent, 2 x 2000 expected: below 7200
  bench.now = 1800;
  engine.hear(bench.now, Ended{1, Ending::finished, {1}, "", 3600});
  EXPECT_TRUE(bench.starts(engine).empty());  // 5600 spent, 2800 expected of the one that runs
}

TEST(EngineTest, AFailedTrialIsTriedAgainWithTheSameValuesAndThenGivenUp) {
  Bench bench(file_of("retries = 2\n[budget]\ntrials = 1"));
  Engine engine(bench.study, bench.file, 1, 1);
  const auto first = bench.starts(engine).at(0);
  engine.hear(1, Ended{0, Ending::failed, {}, "exited with code 3", 1});
  const auto second = bench.starts(engine).at(0);
  EXPECT_EQ(second.trial, first.trial);
  EXPECT_EQ(second.attempt, 2);
  EXPECT_EQ(formats::dump_json(second.values), formats::dump_json(first.values));
  engine.hear(1, Ended{0, Ending::lost, {}, "the node went away", 1});  // costs no retry
  EXPECT_EQ(bench.starts(engine).at(0).attempt, 3);
  engine.hear(1, Ended{0, Ending::failed, {}, "exited with code 3", 1});
  EXPECT_EQ(bench.starts(engine).at(0).attempt, 4);
  engine.hear(1, Ended{0, Ending::failed, {}, "exited with code 3", 1});
  EXPECT_TRUE(bench.starts(engine).empty());
  EXPECT_TRUE(engine.is_done());
  const auto& trial = bench.study.history().trial(0);
  EXPECT_EQ(trial.state, TrialState::failed);
  EXPECT_EQ(*find_remark(trial.attributes, remark::reason), "\"exited with code 3\"");
}

TEST(EngineTest, ATrialThatIsAlwaysLostIsGivenUp) {
  Bench bench(file_of("[budget]\ntrials = 1"));
  Engine engine(bench.study, bench.file, 1, 1);
  int starts = 0;
  while (!engine.is_done()) {
    starts += static_cast<int>(bench.starts(engine).size());
    engine.hear(1, Ended{0, Ending::lost, {}, "gone", 1});
  }
  EXPECT_EQ(starts, 11);
  EXPECT_THAT(*find_remark(bench.study.history().trial(0).attributes, remark::reason),
              HasSubstr("lost 11 times"));
}

TEST(EngineTest, NaNAndSilenceAreFailuresWithAReason) {
  Bench bench(file_of("parallel = 3\n[budget]\ntrials = 3"));
  Engine engine(bench.study, bench.file, 1, 1);
  (void)engine.step(1);
  engine.hear(1, Ended{0, Ending::finished, {std::nan("")}, "", 1});
  engine.hear(1, Ended{1, Ending::finished, {}, "", 1});
  engine.hear(1, Ended{2, Ending::finished, {std::numeric_limits<double>::infinity()}, "", 1});
  const auto& history = bench.study.history();
  EXPECT_EQ(*find_remark(history.trial(0).attributes, remark::reason), R"("\"loss\" is NaN")");
  EXPECT_EQ(*find_remark(history.trial(1).attributes, remark::reason), R"("it never reported \"loss\"")");
  EXPECT_EQ(history.trial(2).state, TrialState::complete);  // the worst there is, but a value
  EXPECT_EQ(engine.counts().failed, 2u);
}

TEST(EngineTest, AHopelessTrialIsStoppedAndCountsAsPruned) {
  Bench bench(file_of("pruner = { name = \"threshold\", upper = 1.0 }\n[budget]\ntrials = 1"));
  Engine engine(bench.study, bench.file, 1, 1);
  (void)engine.step(1);
  engine.hear(1, Progress{0, 1, 0.5});
  EXPECT_TRUE(engine.step(1).empty());
  engine.hear(1, Progress{0, 2, 7});
  engine.hear(1, Progress{0, 3, 8});
  const auto actions = engine.step(1);
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(std::get<Stop>(actions[0]).trial, 0u);
  engine.hear(1, Ended{0, Ending::cancelled, {}, "cancelled", 1});
  EXPECT_EQ(bench.study.history().trial(0).state, TrialState::pruned);
  EXPECT_EQ(bench.study.history().trial(0).values, std::vector{8.0});
}

TEST(EngineTest, AGridIsTriedOnceAndEndsByItself) {
  Bench bench(file_of("sampler = { name = \"grid\", points = 5 }\nrules = [\"x + n < 3\"]",
                      "x = { low = 0.0, high = 1.0 }\nn = { low = 1, high = 3 }\n"));
  Engine engine(bench.study, bench.file, 1, 1);
  EXPECT_EQ(engine.expected(), 9u);  // n = 1: 5, n = 2: 4, n = 3: 0
  bench.run(engine);
  EXPECT_EQ(engine.counts().complete, 9u);
}

TEST(EngineTest, WhatBreaksARuleCostsNothing) {
  Bench bench(file_of("sampler = \"random\"\nrules = [\"x < 0.2\"]\n[budget]\ntrials = 20"));
  Engine engine(bench.study, bench.file, 1, 1);
  bench.run(engine);
  EXPECT_EQ(engine.counts().complete, 20u);
  EXPECT_EQ(bench.begun.size(), 20u);
  EXPECT_LT(bench.study.history().trial(study::best_trials(bench.study.history()).at(0)).values[0], 0.2);
}

TEST(EngineTest, RulesThatNothingKeepsAreAnError) {
  Bench bench(file_of("sampler = \"random\"\nrules = [\"x > 2\"]\n[budget]\ntrials = 2"));
  Engine engine(bench.study, bench.file, 1, 1);
  EXPECT_THAT(message_of([&] { (void)engine.step(1); }), HasSubstr("are the rules x > 2 possible"));
}

TEST(EngineTest, PointsToTryFirstAreTriedFirst) {
  Bench bench(file_of("[[first]]\nx = 0.125\n[[first]]\nx = 0.75\n[budget]\ntrials = 3"));
  Engine engine(bench.study, bench.file, 1, 1);
  bench.run(engine);
  EXPECT_EQ(bench.study.history().trials()[0].values, std::vector{0.125});
  EXPECT_EQ(bench.study.history().trials()[1].values, std::vector{0.75});
}

// At each place where a process may be killed: the next one goes on, and each trial counts once.
TEST(EngineTest, AnEngineThatIsKilledIsFollowedByOneThatGoesOn) {
  for (int killed_after = 0; killed_after < 12; ++killed_after) {
    const TemporaryDirectory place;
    const auto file = file_of("parallel = 2\n[[first]]\nx = 0.5\n[budget]\ntrials = 6");
    std::map<study::TrialNumber, std::string> values;
    int events = 0;
    for (bool again = true; again;) {
      Bench bench(file, place.path() / "s");
      Engine engine(bench.study, bench.file, 1, 1);
      again = false;
      while (!engine.is_done() && !again)
        for (const auto& start : bench.starts(engine)) {
          const auto text = formats::dump_json(start.values);
          EXPECT_EQ(values.emplace(start.trial, text).first->second,
                    text);  // the same trial, the same values
          if (events++ == killed_after) again = true;
          if (again) break;
          engine.started(start.trial, fmt::format("job-{}", start.trial));
          if (events++ == killed_after) again = true;
          if (again) break;
          engine.hear(1, Ended{start.trial, Ending::finished, {start.values.find("x")->number()}, "", 1});
        }
    }
    const auto study = study::Study::load(place.path() / "s");
    EXPECT_EQ(study->history().finished_count(), 6u) << killed_after;
    for (const auto& trial : study->history().trials())
      EXPECT_TRUE(is_finished(trial.state)) << trial.number << " after " << killed_after;
  }
}

TEST(EngineTest, AJobThatWasHandedOverIsKnownByItsName) {
  const TemporaryDirectory place;
  const auto file = file_of("[budget]\ntrials = 1");
  {
    Bench bench(file, place.path() / "s");
    Engine engine(bench.study, bench.file, 1, 1);
    EXPECT_EQ(bench.starts(engine).at(0).known_as, "");
    engine.started(0, "s-1");
  }
  Bench bench(file, place.path() / "s");
  Engine engine(bench.study, bench.file, 1, 1);
  const auto start = bench.starts(engine).at(0);
  EXPECT_EQ(start.known_as, "s-1");
  EXPECT_EQ(start.attempt, 1);
}

TEST(EngineTest, AnotherSpaceIsRefusedAndAnotherRangeIsNot) {
  const TemporaryDirectory place;
  Bench first(file_of("[budget]\ntrials = 1"), place.path() / "s");
  {
    Engine engine(first.study, first.file, 1, 1);
    first.run(engine);
  }
  Bench other(file_of("[budget]\ntrials = 2", "y = { low = 0.0, high = 1.0 }\n"), place.path() / "s");
  EXPECT_EQ(message_of([&] { Engine(other.study, other.file, 1, 1); }),
            "the study s was made for another space: x is gone; y is new. Give it another name; begin = "
            "\"studies/s\" takes over the trials that fit");
  Bench wider(file_of("[budget]\ntrials = 2", "x = { low = 0.0, high = 2.0 }\n"), place.path() / "s");
  Engine engine(wider.study, wider.file, 1, 1);
  EXPECT_EQ(engine.remarks().size(), 1u);
  wider.run(engine);
  EXPECT_EQ(engine.counts().complete, 2u);
}

TEST(EngineTest, AnEarlierStudyIsTakenOverOnce) {
  const TemporaryDirectory place;
  Bench before(file_of("[budget]\ntrials = 5"), place.path() / "before");
  {
    Engine engine(before.study, before.file, 1, 1);
    before.run(engine);
  }
  const auto file = file_of("begin = \"" + (place.path() / "before").string() + "\"\n[budget]\ntrials = 3",
                            "x = { low = 0.0, high = 2.0 }\n");
  for (int again = 0; again < 2; ++again) {
    Bench bench(file, place.path() / "after");
    Engine engine(bench.study, bench.file, 1, 1);
    bench.run(engine);
    EXPECT_EQ(engine.counts().complete, 3u);  // those taken over cost nothing
    EXPECT_EQ(bench.study.history().finished_count(), 8u);
  }
}

// 1,000 places, trials of 20 to 60 seconds, looked at once a second: how much of the time, until nothing is
// left to begin, a place is taken.
TEST(EngineTest, AThousandPlacesAreBusy) {
  Bench bench(file_of("parallel = 1000\n[budget]\ntrials = 6000"));
  Engine engine(bench.study, bench.file, 1, 0);
  std::multimap<double, study::TrialNumber> running;  // by their end
  std::vector<std::pair<double, double>> spans;
  double horizon = 0;
  for (double now = 0; !engine.is_done(); now += 1) {
    for (; !running.empty() && running.begin()->first <= now; running.erase(running.begin()))
      engine.hear(now, Ended{running.begin()->second, Ending::finished, {0.5}, "", 1});
    for (const auto& action : engine.step(now)) {
      const auto trial = std::get<Start>(action).trial;
      const double end = now + 20 + 40 * Random({trial}).uniform();
      running.emplace(end, trial);
      spans.emplace_back(now, end);
      horizon = now;
    }
    ASSERT_LE(engine.running(), 1000u);
  }
  EXPECT_EQ(spans.size(), 6000u);
  double busy = 0;
  for (const auto& [begin, end] : spans) busy += std::min(end, horizon) - begin;
  EXPECT_GE(busy / (1000 * horizon), 0.95);
}

TEST(EngineTest, AHundredThousandTrialsAreCarriedOut) {
  const auto file = file_of("sampler = \"random\"\nparallel = 50\n[budget]\ntrials = 100000");
  study::Study study(directions(file));
  Engine engine(study, file, 1, 1);
  while (!engine.is_done())
    for (const auto& action : engine.step(1)) {
      const auto& start = std::get<Start>(action);
      engine.hear(1, Ended{start.trial, Ending::finished, {start.values.find("x")->number()}, "", 1});
    }
  EXPECT_EQ(engine.counts().complete, 100'000u);
}

}  // namespace
}  // namespace longship::sweep
