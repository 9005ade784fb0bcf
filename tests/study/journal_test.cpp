// SPDX-License-Identifier: Apache-2.0
#include "study/journal.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "expect.h"
#include "study/pareto.h"
#include "study/study.h"

namespace longship::study {
namespace {

namespace fs = std::filesystem;

class JournalTest : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<Study> open(std::vector<std::uint8_t> maximise = {0}) const {
    auto study = std::make_unique<Study>(directory.path(), "sea", std::move(maximise));
    study->use(make_sampler("random", 1));
    return study;
  }

  static void carry_out(Study& study, double loss) {
    const auto number = study.ask(1);
    (void)study.suggest(number, study.parameter("x", real(0, 1)));
    study.report(number, 1, loss);
    study.note(number, {false, "who", "\"me\""});
    study.tell(number, TrialState::complete, {loss}, 2);
  }

  TemporaryDirectory directory{"journal"};
};

TEST_F(JournalTest, AnotherProcessFindsEverything) {
  auto first = open();
  for (int i = 0; i < 5; ++i) carry_out(*first, i);
  first->note({false, "about", "1"});
  const auto second = Study::load(directory.path());
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->name(), "sea");
  EXPECT_EQ(second->history().trials(), first->history().trials());
  EXPECT_EQ(second->history().attributes(), first->history().attributes());
}

TEST_F(JournalTest, ProcessesSeeEachOthersTrialsAndNeverShareANumber) {
  auto one = open(), two = open();
  for (int i = 0; i < 20; ++i) carry_out(i % 2 ? *one : *two, i);
  one->refresh();
  two->refresh();
  std::set<TrialNumber> numbers;
  for (const auto& trial : one->history().trials()) numbers.insert(trial.number);
  EXPECT_EQ(numbers.size(), 20);
  EXPECT_EQ(one->history().trials().size(), two->history().trials().size());
  EXPECT_EQ(best_trials(one->history()), best_trials(two->history()));
}

TEST_F(JournalTest, NumbersOfOneProcessHaveNoGaps) {
  auto study = open();
  for (TrialNumber i = 0; i < 70; ++i) EXPECT_EQ(study->ask(1), i);
}

TEST_F(JournalTest, NumbersThatCameFromElsewhereAreNotGivenAgain) {
  auto first = open();
  for (int i = 0; i < 20; ++i) carry_out(*first, i);
  const TemporaryDirectory elsewhere("journal");
  fs::copy(directory.path() / "writer-0", elsewhere.path() / "writer-0");           // the logs alone
  for (int times = 0; times < 2; ++times) Journal(elsewhere.path()).claim_known();  // again is harmless
  const auto there = Study::load(elsewhere.path());
  there->use(make_sampler("random", 1));
  EXPECT_EQ(there->ask(1), 20u);
}

TEST_F(JournalTest, AWaitingTrialIsTakenByOneOnly) {
  auto one = open(), two = open();
  const auto number = one->enqueue({{"x", "0.5"}});
  two->refresh();
  EXPECT_EQ(two->ask(1), number);
  EXPECT_NE(one->ask(1), number);
}

TEST_F(JournalTest, AnyProcessMayTellAndTheFirstCounts) {
  auto one = open(), two = open();
  const auto number = one->ask(1);
  two->tell(number, TrialState::complete, {1}, 2);
  one->refresh();
  EXPECT_EQ(message_of([&] { one->tell(number, TrialState::complete, {2}, 3); }),
            fmt::format("trial {} has been told already: it is complete", number));
}

TEST_F(JournalTest, ParametersKeepTheirMeaningWhateverTheirNumbers) {
  auto one = open(), two = open();
  (void)two->parameter("other", integer(1, 3));
  carry_out(*one, 1);
  carry_out(*two, 2);
  const auto third = Study::load(directory.path());
  for (const auto& trial : third->history().trials())
    EXPECT_EQ(third->history().parameter(trial.point.at(0).parameter).name, "x");
}

TEST_F(JournalTest, OtherObjectivesAreAnError) {
  carry_out(*open(), 1);
  EXPECT_EQ(
      message_of([&] { (void)open({1}); }),
      fmt::format(
          "the journal {}/writer-0/log: the study there has other objectives or directions than this one",
          directory.path().string()));
}

TEST_F(JournalTest, ASpaceThatChangedBetweenRunsIsAnError) {
  carry_out(*open(), 1);
  auto second = open();
  EXPECT_EQ(
      message_of([&] {
        (void)second->parameter("x", category({"a", "b"}));
      }),
      "parameter \"x\" was a real number from 0 to 1 in earlier trials, and is now one of 2 choices: give it "
      "another name");
}

TEST_F(JournalTest, ReadingLeavesNoTrace) {
  carry_out(*open(), 1);
  (void)Study::load(directory.path());
  EXPECT_TRUE(fs::exists(directory.path() / "writer-0"));
  EXPECT_FALSE(fs::exists(directory.path() / "writer-1"));
}

TEST_F(JournalTest, NoStudyIsNoStudy) {
  EXPECT_EQ(Study::load(directory.path()), nullptr);
  EXPECT_EQ(Study::load(directory.path() / "nowhere"), nullptr);
  write_file(directory.path() / "file", "x");
  EXPECT_EQ(message_of([&] { (void)Study::load(directory.path() / "file"); }),
            fmt::format("{}/file is no directory: a study's journal is one", directory.path().string()));
}

TEST_F(JournalTest, EveryTornTailLosesOnlyWhatWasTorn) {
  carry_out(*open(), 1);
  const auto log = directory.path() / "writer-0" / "log";
  const auto whole = read_file(log);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write_file(log, std::string_view(whole).substr(0, length));
    const auto study = Study::load(directory.path());
    if (!study) continue;
    ASSERT_LE(study->history().trials().size(), 1) << length;
  }
  write_file(log, whole);
  EXPECT_EQ(Study::load(directory.path())->history().trials().size(), 1);
}

TEST_F(JournalTest, ADamagedClaimIsNamed) {
  auto study = open();
  (void)study->ask(1);
  fs::create_symlink("many", directory.path() / "numbers" / "1");
  EXPECT_EQ(
      message_of([&] { (void)study->ask(1); }),
      fmt::format("{}/numbers/1 is damaged: \"many\" is no count of trials", directory.path().string()));
}

TEST_F(JournalTest, AForkedChildWritesItsOwnLog) {
  auto study = open();
  carry_out(*study, 1);
  const pid_t child = ::fork();
  if (child == 0) {
    carry_out(*study, 2);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  carry_out(*study, 3);
  const auto other = Study::load(directory.path());
  EXPECT_EQ(other->history().finished_count(), 3);
  study->refresh();
  EXPECT_EQ(study->history().finished_count(), 3);
}

// Many processes at once, each killed in the midst of its work.
TEST_F(JournalTest, KilledProcessesLoseNothingThatWasTold) {
  constexpr int processes = 6;
  std::vector<pid_t> children;
  for (int child = 0; child < processes; ++child) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    auto study = open();
    for (int i = 0; i < 15 + child; ++i) carry_out(*study, i);
    const auto last = study->ask(1);
    (void)study->suggest(last, study->parameter("x", real(0, 1)));
    ::kill(::getpid(), SIGKILL);
  }
  for (const auto child : children) ::waitpid(child, nullptr, 0);
  const auto study = Study::load(directory.path());
  EXPECT_EQ(study->history().finished_count(), 6 * 15 + 15);
  EXPECT_EQ(study->history().trials().size(), 6 * 15 + 15 + 6);
}

}  // namespace
}  // namespace longship::study
