// SPDX-License-Identifier: Apache-2.0
// Slurm with its commands played by the test: what is asked, how often, and what comes of the answers.
#include "batch/slurm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "expect.h"

namespace longship::batch {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct SlurmTest : testing::Test {
  std::string play(const std::vector<std::string>& words, std::string_view input) {
    calls.push_back(words);
    inputs.emplace_back(input);
    const auto& answer = answers[words[0]];
    if (answer.starts_with("error: ")) throw Error("{}", answer.substr(7));
    return answer;
  }
  Report report(const std::string& name) { return slurm.report(std::span(&name, 1)).at(name); }
  std::size_t count(const std::string& program) const {
    return static_cast<std::size_t>(
        std::count_if(calls.begin(), calls.end(), [&](const auto& words) { return words[0] == program; }));
  }

  ManualClock clock;
  std::map<std::string, std::string> answers;
  std::vector<std::vector<std::string>> calls;
  std::vector<std::string> inputs;
  Slurm slurm{[this](const auto& words, auto input) { return play(words, input); }, &clock};
};

Pilot pilot() {
  Pilot pilot;
  pilot.name = "p1";
  pilot.queue = "general";
  pilot.command = {"true"};
  return pilot;
}

TEST_F(SlurmTest, TheScriptGoesToSbatchAndTheNumberComesBack) {
  answers["sbatch"] = "42\n";
  EXPECT_EQ(slurm.submit(pilot()), "42");
  EXPECT_EQ(inputs.at(0), "#!/bin/bash\nexec true\n");
}

TEST_F(SlurmTest, OneSqueueHoweverManyPilots) {
  const std::vector<std::string> names = {"p1", "p2", "p3"};
  EXPECT_EQ(slurm.report(names).size(), 3u);
  EXPECT_EQ(count("squeue"), 1u);
  EXPECT_THAT(calls[0], AllOf(Contains("--me"), Contains("--states=all"), Contains("--name=p1,p2,p3")));
}

TEST_F(SlurmTest, SoManyNamesThatTheyFillACommandLineArePickedFromTheWholeList) {
  std::vector<std::string> names;
  for (int i = 0; i < 10'000; ++i) names.push_back(fmt::format("p{:012x}", i));
  answers["squeue"] = "1|RUNNING|N/A|None|p000000000007\n";
  const auto reports = slurm.report(names);
  EXPECT_EQ(reports.size(), 10'000u);
  EXPECT_EQ(reports.at(names[7]).state, State::running);
  EXPECT_THAT(calls[0], testing::Not(Contains(testing::StartsWith("--name="))));
}

TEST_F(SlurmTest, ForgottenPilotIsUnknownNotEnded) {
  answers["sacct"] = "";
  const auto forgotten = report("p1");
  EXPECT_EQ(forgotten.state, State::unknown);
  EXPECT_EQ(forgotten.reason, "squeue does not know it");
}

TEST_F(SlurmTest, AControllerThatDoesNotAnswerIsAnErrorNotAnEnd) {
  answers["squeue"] = "error: squeue exited with code 1: Unable to contact slurm controller";
  EXPECT_EQ(message_of([&] { (void)report("p1"); }),
            "slurm: squeue: squeue exited with code 1: Unable to contact slurm controller");
  EXPECT_EQ(count("sacct"), 0u);
}

TEST_F(SlurmTest, AccountingTellsOfWhatSqueueForgot) {
  answers["sacct"] = "42|FAILED|3:0|p1\n";
  const auto ended = report("p1");
  EXPECT_EQ(ended.state, State::ended);
  EXPECT_EQ(ended.reason, "FAILED");
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_THAT(calls.at(1), AllOf(Contains("--name=p1"), Contains("--starttime=now-30days")));
  // It is remembered, and not asked for again.
  clock.advance(std::chrono::hours(1));
  EXPECT_EQ(report("p1").state, State::ended);
  EXPECT_EQ(count("sacct"), 1u);
}

TEST_F(SlurmTest, AccountingIsAskedOnceAMinuteAtMost) {
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(report("p1").state, State::unknown);
    clock.advance(std::chrono::seconds(10));
  }
  EXPECT_EQ(count("sacct"), 2u);
}

TEST_F(SlurmTest, AccountingThatIsNotThereIsNotAskedAgain) {
  answers["sacct"] = "error: sacct exited with code 1: Slurm accounting storage is disabled";
  EXPECT_EQ(report("p1").state, State::unknown);
  clock.advance(std::chrono::hours(1));
  EXPECT_EQ(report("p1").state, State::unknown);
  EXPECT_EQ(count("sacct"), 1u);
}

TEST_F(SlurmTest, AccountingInTroubleIsAskedAgainLater) {
  answers["sacct"] = "error: sacct exited with code 1: connection refused";
  EXPECT_EQ(report("p1").reason, "squeue does not know it; sacct exited with code 1: connection refused");
  answers["sacct"] = "42|COMPLETED|0:0|p1\n";
  clock.advance(std::chrono::minutes(2));
  EXPECT_EQ(report("p1").state, State::ended);
}

TEST_F(SlurmTest, ANumberThatIsKnownIsCancelledTogetherWithItsName) {
  slurm.cancel("p1");
  EXPECT_THAT(calls.back(), ElementsAre("scancel", "--me", "--name=p1"));
  answers["squeue"] = "42|RUNNING|N/A|None|p1\n";
  (void)report("p1");
  slurm.cancel("p1");
  EXPECT_THAT(calls.back(), ElementsAre("scancel", "--me", "--name=p1", "42"));
}

TEST_F(SlurmTest, CancellingWhatSlurmForgotIsHarmlessButATroubledSlurmIsAnError) {
  answers["scancel"] =
      "error: scancel exited with code 1: Kill job error on job id 42: Invalid job id specified";
  slurm.cancel("p1");
  answers["scancel"] = "error: scancel exited with code 1: Unable to contact slurm controller";
  EXPECT_THAT(message_of([&] { slurm.cancel("p1"); }),
              HasSubstr("slurm: pilot p1: scancel exited with code 1: Unable"));
}

TEST(SlurmEnvironmentTest, CommandsSeeNeitherOurAllocationNorTastesNorSecrets) {
  const Environment given = {{"PATH", "/bin"},         {"SLURM_CONF", "/etc/slurm.conf"},
                             {"SLURM_JOB_ID", "7"},    {"SBATCH_PARTITION", "x"},
                             {"SQUEUE_FORMAT", "%i"},  {"SACCT_FORMAT", "x"},
                             {"LONGSHIP_TOKEN", "t"},  {"LONGSHIP_HUB", "h"},
                             {"LONGSHIP_STORE", "/s"}, {"SLURM_TIME_FORMAT", "x"}};
  EXPECT_EQ(slurm_environment(given),
            (Environment{{"PATH", "/bin"}, {"SLURM_CONF", "/etc/slurm.conf"}, {"LONGSHIP_STORE", "/s"}}));
}

TEST(OpenTest, BatchSystemsOfLaterVersionsAreRefusedWithASentence) {
  site::Site site;
  site.name = "summit";
  site.batch = site::Batch::lsf;
  EXPECT_EQ(message_of([&] { (void)open(site); }),
            "site summit: batch = \"lsf\" is not supported yet: use \"slurm\" or \"local\"");
}

}  // namespace
}  // namespace longship::batch
