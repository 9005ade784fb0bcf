// SPDX-License-Identifier: Apache-2.0
#include "batch/slurm_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect.h"

namespace longship::batch {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::vector<std::string> names = {"p1", "p2"};

Pilot least() {
  Pilot pilot;
  pilot.name = "p1";
  pilot.queue = "general";
  pilot.command = {"longship", "pilot", "/spool/pilots/p1"};
  return pilot;
}

TEST(SbatchTest, TheLeastPilotTakesWholeNodesAndIsNeverRequeued) {
  EXPECT_THAT(sbatch_words(least()), ElementsAre("sbatch", "--parsable", "--no-requeue", "--job-name=p1",
                                                 "--partition=general", "--nodes=1", "--ntasks-per-node=1",
                                                 "--exclusive", "--chdir=/", "--output=/dev/null"));
  EXPECT_EQ(script_of(least()), "#!/bin/bash\nexec longship pilot /spool/pilots/p1\n");
}

TEST(SbatchTest, QueueSettingsReachTheScript) {
  site::Queue queue{.name = "general", .max_walltime = std::chrono::hours(2)};
  queue.account = "ml4hep";
  queue.qos = "high";
  queue.setup = {"module load slurm_setup", "ulimit -c 0"};
  queue.options = {"--constraint=scratch", "--nodes=2"};
  auto pilot = pilot_for(queue);
  pilot.name = "p1";
  pilot.command = {"run me"};
  pilot.cores = 12;
  pilot.memory = (std::uint64_t{90} << 30) + 1;
  pilot.gpus = 4;
  pilot.output = "/spool/100%/batch.out";
  pilot.environment["A"] = "b c";
  EXPECT_THAT(
      sbatch_words(pilot),
      ElementsAre("sbatch", "--parsable", "--no-requeue", "--job-name=p1", "--partition=general", "--nodes=1",
                  "--ntasks-per-node=1", "--cpus-per-task=12", "--time=120", "--signal=B:TERM@60",
                  "--mem=92161M", "--gres=gpu:4", "--account=ml4hep", "--qos=high", "--chdir=/",
                  "--output=/spool/100%%/batch.out", "--constraint=scratch", "--nodes=2"));
  EXPECT_EQ(script_of(pilot),
            "#!/bin/bash -l\nexport A='b c'\nmodule load slurm_setup\nulimit -c 0\nexec 'run me'\n");
}

TEST(SbatchTest, TimeIsRoundedUpAndShortPilotsGetNoWarning) {
  auto pilot = least();
  pilot.walltime = seconds(61);
  EXPECT_THAT(sbatch_words(pilot), Contains("--time=2"));
  EXPECT_THAT(sbatch_words(pilot), Not(Contains(StartsWith("--signal"))));
  pilot.walltime = minutes(11);
  EXPECT_THAT(sbatch_words(pilot), Contains("--signal=B:TERM@60"));
}

TEST(SbatchTest, AWordHasNoLineBreakInTheScript) {
  EXPECT_EQ(shell_word("plain-1.0/x"), "plain-1.0/x");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("a\r\nb'\\"), "$'a\\015\\012b\\'\\\\'");
  EXPECT_EQ(shell_word("\x01"
                       "1"),
            "$'\\0011'");
}

TEST(SbatchTest, TheNumberIsTheLastLineOfTheAnswer) {
  EXPECT_EQ(parse_sbatch("42\n"), "42");
  EXPECT_EQ(parse_sbatch("42;cluster\n"), "42");
  EXPECT_EQ(parse_sbatch("Welcome, your budget is fine.\n42\n\n"), "42");
  EXPECT_EQ(message_of([] { (void)parse_sbatch(""); }),
            "sbatch: expected the number of a job, found nothing");
  EXPECT_EQ(message_of([] { (void)parse_sbatch("Submitted\n"); }),
            "sbatch: expected the number of a job, found \"Submitted\"");
}

TEST(SqueueTest, PendingKeepsItsReasonAndItsExpectedStart) {
  const auto reports =
      parse_squeue("2|PENDING|1826337906|Resources|p1\n1|RUNNING|1794801906|None|p2\n", names);
  EXPECT_EQ(reports.at("p1").state, State::queued);
  EXPECT_EQ(reports.at("p1").reason, "Resources");
  EXPECT_EQ(reports.at("p1").id, "2");
  EXPECT_EQ(reports.at("p1").expected_start, 1826337906);
  EXPECT_EQ(reports.at("p2").state, State::running);
  EXPECT_EQ(reports.at("p2").reason, "");
  EXPECT_EQ(reports.at("p2").expected_start, 0);
}

TEST(SqueueTest, WhatItDoesNotListIsUnknown) {
  const auto reports = parse_squeue("", names);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports.at("p1").state, State::unknown);
}

TEST(SqueueTest, JobsThatNobodyAskedForAreLeftOut) {
  EXPECT_EQ(parse_squeue("9|RUNNING|N/A|None|a|b|c\n", names).size(), 2u);
}

TEST(SqueueTest, WhatEndedSaysHow) {
  const auto reports = parse_squeue("1|TIMEOUT|N/A|TimeLimit|p1\n2|COMPLETED|N/A|None|p2\n", names);
  EXPECT_EQ(reports.at("p1").state, State::ended);
  EXPECT_EQ(reports.at("p1").reason, "TIMEOUT (TimeLimit)");
  EXPECT_EQ(reports.at("p2").reason, "COMPLETED");
}

TEST(SqueueTest, UnlistedStateIsUnknown) {
  const auto reports = parse_squeue("1|DREAMING|N/A|None|p1\n", names);
  EXPECT_EQ(reports.at("p1").state, State::unknown);
  EXPECT_EQ(reports.at("p1").reason, "DREAMING");
}

TEST(SqueueTest, OfTwoJobsWithOneNameTheLivelierCounts) {
  for (const auto* text :
       {"1|FAILED|N/A|None|p1\n2|RUNNING|N/A|None|p1\n", "2|RUNNING|N/A|None|p1\n1|FAILED|N/A|None|p1\n"})
    EXPECT_EQ(parse_squeue(text, names).at("p1").id, "2");
}

TEST(SqueueTest, ShortLineIsNamedByNumber) {
  EXPECT_EQ(message_of([] { (void)parse_squeue("1|RUNNING|N/A|None|p1\n2|RUNNING\n", names); }),
            "line 2: not id|state|start|reason|name: \"2|RUNNING\"");
}

TEST(SqueueTest, EveryStateOfSlurmIsKnown) {
  for (const auto* word : {"PENDING", "CONFIGURING", "REQUEUED", "SPECIAL_EXIT"})
    EXPECT_EQ(state_of(word), State::queued);
  for (const auto* word : {"RUNNING", "COMPLETING", "SUSPENDED", "STAGE_OUT"})
    EXPECT_EQ(state_of(word), State::running);
  for (const auto* word : {"COMPLETED", "FAILED", "CANCELLED", "CANCELLED by 1000", "TIMEOUT", "NODE_FAIL",
                           "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY", "REVOKED"})
    EXPECT_EQ(state_of(word), State::ended) << word;
}

TEST(SqueueTest, OnlyATimeWithItsYearIsOne) {
  EXPECT_EQ(parse_time("1826337906"), 1826337906);
  ::setenv("TZ", "UTC", 1);
  EXPECT_EQ(parse_time("2026-11-16T04:05:06"), 1794801906);
  ::unsetenv("TZ");
  for (const auto* text :
       {"N/A", "", "Nov 16 04:05", "16T04:05:06", "2026-11-16", "2026-11-16 04:05:06", "-5"})
    EXPECT_EQ(parse_time(text), 0) << text;
}

TEST(SacctTest, OnlyWhatEndedIsBelieved) {
  const auto reports = parse_sacct("7|CANCELLED by 0|0:15|p1\n8|RUNNING|0:0|p2\n", names);
  EXPECT_EQ(reports.at("p1").state, State::ended);
  EXPECT_EQ(reports.at("p1").reason, "CANCELLED by 0");
  EXPECT_EQ(reports.at("p1").exit_code, 143);
  EXPECT_EQ(reports.at("p2").state, State::unknown);
  EXPECT_THAT(reports.at("p2").reason, HasSubstr("sacct says RUNNING"));
  EXPECT_EQ(parse_sacct("7|FAILED|3:0|p1\n", names).at("p1").exit_code, 3);
  EXPECT_EQ(parse_sacct("7|FAILED|?|p1\n", names).at("p1").exit_code, std::nullopt);
}

}  // namespace
}  // namespace longship::batch
