// SPDX-License-Identifier: Apache-2.0
#include "sweep/turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/file.h"
#include "expect.h"
#include "sweep/engine.h"

namespace longship::sweep {
namespace {

using testing::HasSubstr;

StudyFile file_of(const std::string& population, const std::string& keys = "") {
  return parse_study_file(
      "version = 1\nname = \"s\"\ncommand = [\"c\", \"{parent}\"]\nobjective = { metric = \"loss\" }\n"
      "sampler = \"random\"\n" +
          keys + "\n[budget]\ntrials = 40\n[population]\n" + population +
          "\n[space]\nx = { low = 0.0, high = 1.0 }\n",
      "study.toml", "/tmp");
}

// What members have learnt so far: the more, the nearer x was to 0.25.
struct Training {
  std::map<study::TrialNumber, double> learnt, values;
  double train(const Start& start) {
    const double x = start.values.find("x")->number();
    values[start.trial] = x;
    learnt[start.trial] = (start.parent ? learnt.at(*start.parent) : 0) + 1 - (x - 0.25) * (x - 0.25);
    return -learnt[start.trial];
  }
};

std::vector<Start> starts_of(Engine& engine) {
  std::vector<Start> starts;
  for (auto& action : engine.step(1)) starts.push_back(std::get<Start>(action));
  return starts;
}

TEST(TurnsTest, EachTurnGoesOnFromTheOneBefore) {
  const auto file = file_of("size = 4\nshare = 0.25", "parallel = 8");
  study::Study study(directions(file));
  Engine engine(study, file, 1, 1);
  Training training;
  std::map<study::TrialNumber, int> turns;
  int taken_over = 0;
  while (!engine.is_done()) {
    const auto starts = starts_of(engine);
    ASSERT_LE(starts.size(), 4u);  // though eight might run
    for (const auto& start : starts) {
      turns[start.trial] = start.parent ? turns.at(*start.parent) + 1 : 0;
      if (start.parent && start.values.find("x")->number() != training.values.at(*start.parent)) ++taken_over;
      engine.hear(1, Ended{start.trial, Ending::finished, {training.train(start)}, "", 1});
    }
  }
  EXPECT_EQ(engine.counts().complete, 40u);
  EXPECT_EQ(turns.at(39), 9);  // ten turns of four members
  EXPECT_GE(taken_over, 5);    // one of four after each turn, as a rule
  EXPECT_LE(taken_over, 14);
  EXPECT_GT(training.learnt.at(39), 9);  // random values would have learnt 8.5
}

TEST(TurnsTest, AMemberThatFailsTakesOverFromAnother) {
  const auto file = file_of("size = 4", "parallel = 4\nretries = 0");
  study::Study study(directions(file));
  Engine engine(study, file, 1, 1);
  for (const auto& start : starts_of(engine)) {
    const bool fails = start.trial == 2;
    engine.hear(1, Ended{start.trial,
                         fails ? Ending::failed : Ending::finished,
                         {1.0 + static_cast<double>(start.trial)},
                         "",
                         1});
  }
  const auto next = starts_of(engine);
  ASSERT_EQ(next.size(), 4u);
  EXPECT_EQ(next[0].parent, 0u);
  EXPECT_EQ(next[1].parent, 1u);
  EXPECT_EQ(next[2].parent, 0u);  // the best
  EXPECT_EQ(next[3].parent, 3u);  // not the worst any more
}

TEST(TurnsTest, OneThatIsAheadIsNoBetterForThat) {
  const auto file = file_of("size = 4", "parallel = 4");
  study::Study study(directions(file));
  Engine engine(study, file, 1, 1);
  (void)engine.step(1);
  engine.hear(1, Ended{0, Ending::finished, {5}, "", 1});
  auto next = starts_of(engine).at(0);
  for (int turn = 1; turn < 4; ++turn) {  // member 0 is fast: nobody else has ended a turn
    EXPECT_EQ(next.parent, turn == 1 ? 0u : static_cast<study::TrialNumber>(turn + 2));
    engine.hear(1, Ended{next.trial, Ending::finished, {5.0 - turn}, "", 1});
    next = starts_of(engine).at(0);
  }
  engine.hear(1, Ended{1, Ending::finished, {4}, "", 1});  // better than member 0 after its first turn
  EXPECT_EQ(starts_of(engine).at(0).parent, 1u);
}

TEST(TurnsTest, AnEngineThatIsKilledIsFollowedByOneThatKnowsTheParents) {
  const TemporaryDirectory place;
  const auto file = file_of("size = 2\nshare = 0.5", "parallel = 2");
  std::map<study::TrialNumber, std::optional<study::TrialNumber>> parents;
  for (int killed = 0; killed < 6; ++killed) {
    study::Study study(place.path() / "s", file.name, directions(file));
    Engine engine(study, file, 1, 1);
    for (const auto& start : starts_of(engine)) {
      EXPECT_EQ(parents.emplace(start.trial, start.parent).first->second, start.parent);
      if (start.trial % 2 == 0 || killed > 3)
        engine.hear(1, Ended{start.trial, Ending::finished, {1}, "", 1});
    }
    (void)engine.step(1);
  }
  EXPECT_GE(parents.size(), 6u);
}

TEST(TurnsTest, TheFirstMembersGetThePointsToTryFirst) {
  const auto file = file_of("size = 2\nshare = 0.5", "parallel = 2\nfirst = [{ x = 0.125 }]");
  study::Study study(directions(file));
  Engine engine(study, file, 1, 1);
  EXPECT_EQ(starts_of(engine).at(0).values.find("x")->number(), 0.125);
}

TEST(TurnsTest, APopulationThatMakesNoSenseIsRefused) {
  const auto complaint = [](const std::string& population, const std::string& keys = "") {
    return message_of([&] { (void)file_of(population, keys); });
  };
  EXPECT_THAT(complaint("size = 1"), HasSubstr("population.size: expected an integer from 2"));
  EXPECT_THAT(complaint("size = 3"), HasSubstr("population.share: of 3 members that is less than one"));
  EXPECT_THAT(complaint("size = 4\nshare = 0.6"), HasSubstr("above 0 and at most 0.5"));
  EXPECT_THAT(complaint("size = 4\ndistance = 0"), HasSubstr("population.distance"));
  EXPECT_THAT(complaint("size = 4\nanew = 2"), HasSubstr("population.anew"));
  EXPECT_THAT(complaint("size = 4", "pruner = \"median\""), HasSubstr("there is nothing to prune"));
  EXPECT_THAT(complaint("size = 4\nmembers = 2"), HasSubstr("population.members: unknown key"));
}

}  // namespace
}  // namespace longship::sweep
