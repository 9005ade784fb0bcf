// SPDX-License-Identifier: Apache-2.0
#include "trace/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <random>

#include "base/error.h"
#include "base/file.h"
#include "base/record_log.h"
#include "record/writer.h"
#include "synthetic.h"
#include "trace/blame.h"
#include "trace/timeline.h"

namespace longship::trace {
namespace {
using record::Activity;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// In ms: compute, communication, waiting, input, checkpoint, other.
std::vector<std::int64_t> milliseconds(const ActivityTimes& times) {
  std::vector<std::int64_t> result;
  for (const auto time : times) result.push_back(time / 1'000'000);
  return result;
}

TEST(BreakdownTest, WhatNoSpanCoversIsCompute) {
  const record::Log log = Synthetic(0, 1).span(Activity::input, 10, 15).span(Activity::checkpoint, 40, 60);
  EXPECT_THAT(milliseconds(break_down(log, {0, Synthetic::ms(100)}).times), ElementsAre(75, 0, 0, 5, 20, 0));
}

TEST(BreakdownTest, TheInnermostSpanCounts) {
  const record::Log log = Synthetic(0, 1)
                              .span(Activity::other, 10, 50)
                              .span(Activity::input, 20, 30)
                              .span(Activity::compute, 22, 24)
                              .span(Activity::checkpoint, 40, 50);
  EXPECT_THAT(milliseconds(break_down(log, {0, Synthetic::ms(100)}).times), ElementsAre(62, 0, 0, 8, 10, 20));
}

TEST(BreakdownTest, SpansThatOverlapWithoutNestingAreNotCountedTwice) {
  const record::Log log = Synthetic(0, 1).span(Activity::input, 0, 60).span(Activity::other, 40, 90);
  EXPECT_THAT(milliseconds(break_down(log, {0, Synthetic::ms(100)}).times), ElementsAre(10, 0, 0, 40, 0, 50));
}

TEST(BreakdownTest, SpansOfOtherThreadsDoNotCount) {
  const record::Log log = Synthetic(0, 1).span(Activity::input, 0, 10).span(Activity::input, 0, 100, 1);
  EXPECT_THAT(milliseconds(break_down(log, {0, Synthetic::ms(100)}).times), ElementsAre(90, 0, 0, 10, 0, 0));
}

TEST(BreakdownTest, ABlockedThreadWaitsUntilTheCollectiveMoves) {
  // Blocked 40–80; the collective had been handed in at 30, the others came at 60, it moved until 78.
  const record::Log log = Synthetic(0, 2).span(Activity::communication, 40, 80).collective(0, 30, 60, 78);
  const auto breakdown = break_down(log, {0, Synthetic::ms(100)});
  EXPECT_THAT(milliseconds(breakdown.times), ElementsAre(60, 20, 20, 0, 0, 0));
  EXPECT_EQ(breakdown.moving, Synthetic::ms(18));
  EXPECT_EQ(breakdown.hidden, 0);
}

TEST(BreakdownTest, CommunicationBeneathComputationCostsNothing) {
  // Two collectives in the background; the thread blocks only for the end of the second.
  const record::Log log = Synthetic(0, 2)
                              .span(Activity::communication, 80, 90)
                              .collective(0, 10, 20, 50)
                              .collective(1, 40, 60, 90);
  const auto breakdown = break_down(log, {0, Synthetic::ms(100)});
  EXPECT_THAT(milliseconds(breakdown.times), ElementsAre(90, 10, 0, 0, 0, 0));
  EXPECT_EQ(breakdown.moving, Synthetic::ms(60));
  EXPECT_EQ(breakdown.hidden, Synthetic::ms(50));
}

TEST(BreakdownTest, WhileOneCollectiveMovesTheThreadDoesNotWaitForAnother) {
  const record::Log log = Synthetic(0, 2)
                              .span(Activity::communication, 0, 100)
                              .collective(0, 0, 10, 60)
                              .collective(1, 5, 70, 100);
  EXPECT_THAT(milliseconds(break_down(log, {0, Synthetic::ms(100)}).times), ElementsAre(0, 80, 20, 0, 0, 0));
}

TEST(BreakdownTest, OnlyWhatIsInTheIntervalCounts) {
  const record::Log log = Synthetic(0, 1).span(Activity::input, 0, 30).span(Activity::other, 90, 200);
  EXPECT_THAT(milliseconds(break_down(log, {Synthetic::ms(20), Synthetic::ms(100)}).times),
              ElementsAre(60, 0, 0, 10, 0, 10));
}

TEST(RunTest, TheIntervalIsFromTheFirstMetricsToTheLast) {
  const auto run = assemble({Synthetic(0, 1).span(Activity::input, 0, 400).metrics(1, 100).metrics(5, 300)});
  EXPECT_EQ(training_interval(run), (Interval{Synthetic::ms(100), Synthetic::ms(300)}));
}

TEST(RunTest, WithoutMetricsItIsAllThatWasRecorded) {
  const auto run =
      assemble({Synthetic(0, 2).span(Activity::input, 10, 400), Synthetic(1, 2).collective(0, 5, 6, 7)});
  EXPECT_EQ(training_interval(run), (Interval{Synthetic::ms(5), Synthetic::ms(400)}));
}

TEST(RunTest, TheTrainingThreadIsTheOneThatReports) {
  EXPECT_EQ(training_lane(Synthetic(0, 1).span(Activity::input, 0, 1).metrics(1, 2, 0.5, 3)), 3u);
  EXPECT_EQ(training_lane(Synthetic(0, 1).span(Activity::input, 0, 1, 2)), 2u);
  EXPECT_EQ(training_lane(Synthetic(0, 1).span(Activity::input, 0, 1).span(Activity::input, 0, 1, 2)), 0u);
}

TEST(RunTest, MissingAndDoubleRanksAreTold) {
  const auto run = assemble({Synthetic(1, 4), Synthetic(1, 4)});
  EXPECT_THAT(run.problems, ElementsAre("two logs say that they are of rank 1: one is left out",
                                        "there is no log of ranks 0, 2 and 3"));
}

// Ten steps of 100 ms on three ranks; rank 1, on another machine whose clock is an hour behind, comes 30 ms
// late in eight of them, and in the other two rank 2 comes 10 ms late.
Run skewed_run() {
  Synthetic fast(0, 3), slow(1, 3, "node-b"), third(2, 3);
  slow.clock(3'600'000);
  fast.metrics(0, 0);
  for (int step = 0; step < 10; ++step) {
    const std::int64_t start = step * 100;
    const bool slow_step = step < 8;
    const std::int64_t arrives[] = {start + 50, start + (slow_step ? 80 : 50), start + (slow_step ? 50 : 60)};
    const std::int64_t moves = slow_step ? start + 80 : start + 60;
    Synthetic* ranks[] = {&fast, &slow, &third};
    for (std::size_t i = 0; i < 3; ++i) {
      ranks[i]->collective(static_cast<std::uint64_t>(step), arrives[i], moves, moves + 20);
      ranks[i]->span(Activity::communication, arrives[i], moves + 20);
    }
    for (auto* rank : ranks) rank->span(Activity::input, start, start + 5);
    fast.metrics(static_cast<std::uint64_t>(step) + 1, start + 100, 1.0 / (step + 1));
  }
  return assemble({fast, slow, third});
}

TEST(ReportTest, SkewedClocksAndOverlapGiveTheExactAnswer) {
  const auto report = analyse(skewed_run());
  EXPECT_EQ(report.length, Synthetic::ms(1000));
  EXPECT_EQ(report.steps, 10u);
  EXPECT_EQ(report.collectives, 10u);
  ASSERT_EQ(report.ranks.size(), 3u);
  // Rank 0 waits 8 × 30 + 2 × 10 ms, moves 10 × 20, reads 10 × 5.
  EXPECT_THAT(milliseconds(report.ranks[0].times), ElementsAre(490, 200, 260, 50, 0, 0));
  // The others are there from their first span to their last, which ends 20 ms before the interval does.
  EXPECT_THAT(milliseconds(report.ranks[1].times), ElementsAre(710, 200, 20, 50, 0, 0));
  EXPECT_THAT(milliseconds(report.ranks[2].times), ElementsAre(490, 200, 240, 50, 0, 0));
  EXPECT_EQ(report.ranks[0].last, 0u);
  EXPECT_EQ(report.ranks[1].last, 8u);
  EXPECT_EQ(report.ranks[2].last, 2u);
  EXPECT_EQ(report.ranks[1].caused, Synthetic::ms(2 * 8 * 30));
  EXPECT_EQ(report.ranks[2].caused, Synthetic::ms(2 * 2 * 10));
  EXPECT_EQ(report.ranks[0].waited_for, 1);
  EXPECT_EQ(report.ranks[0].for_that, Synthetic::ms(8 * 30));
  EXPECT_EQ(report.ranks[1].waited_for, 2);
  EXPECT_EQ(report.ranks[1].for_that, Synthetic::ms(2 * 10));
  EXPECT_EQ(report.ranks[2].waited_for, 1);
  EXPECT_EQ(straggler_words(report),
            "rank 1 arrived last in 80 % of 10 collectives; others waited 480 ms for it");
  EXPECT_THAT(report.advice, Contains(HasSubstr("Rank 1 on node-b arrived last in 80 % of the collectives")));
}

TEST(BlameTest, AMomentOfWaitingIsBlamedOnce) {
  // Rank 0 hands in two collectives and waits for both at once; rank 1 comes late to both.
  const auto run = assemble(
      {Synthetic(0, 2)
           .collective(0, 0, 50, 60)
           .collective(1, 1, 80, 90)
           .span(Activity::communication, 10, 90),
       Synthetic(1, 2).collective(0, 50, 50, 60).collective(1, 80, 80, 90).span(Activity::input, 0, 90)});
  const auto report = analyse(run);
  // 10–50 for the first, 60–80 for the second: while the first moves, 50–60, nobody waits.
  EXPECT_EQ(report.ranks[1].caused, Synthetic::ms(40 + 20));
  EXPECT_EQ(report.ranks[1].last, 2u);
}

TEST(BlameTest, RanksThatComeTogetherBlameNobody) {
  auto early = static_cast<record::Log>(
      Synthetic(0, 2).collective(0, 10, 11, 20).span(Activity::communication, 10, 20));
  auto late = static_cast<record::Log>(
      Synthetic(1, 2).collective(0, 10, 11, 20).span(Activity::communication, 10, 20));
  late.collectives[0].arrived += together - 1;
  const auto report = analyse(assemble({early, late}));
  EXPECT_EQ(report.collectives, 1u);
  EXPECT_EQ(report.ranks[1].last, 0u);
  EXPECT_EQ(straggler_words(report), "");
}

TEST(ReportTest, WhatIsHiddenIsToldOfEachRank) {
  const auto report =
      analyse(assemble({Synthetic(0, 2).collective(0, 0, 10, 50).span(Activity::communication, 40, 50),
                        Synthetic(1, 2).collective(0, 0, 10, 50).span(Activity::communication, 10, 50)}));
  EXPECT_EQ(report.ranks[0].hidden, Synthetic::ms(30));
  EXPECT_EQ(report.ranks[1].hidden, 0);
  EXPECT_EQ(report.ranks[0].waited_for, -1);
}

TEST(ReportTest, RecordingIsPricedByItsEntriesWithinTheInterval) {
  const auto report = analyse(assemble({Synthetic(0, 1)
                                            .span(Activity::input, 0, 5)  // before the first step
                                            .metrics(1, 10)
                                            .span(Activity::input, 20, 30)
                                            .collective(0, 30, 31, 40)
                                            .metrics(2, 110)}));
  EXPECT_EQ(report.recording.entries, 4u);
  EXPECT_EQ(report.recording.cost, span_cost + collective_cost + 2 * metrics_cost);
  EXPECT_EQ(recording_words(report), "recording took 0.0097 % of the time: 4 entries of 2.4 µs on average");
  EXPECT_EQ(recording_words(Report{}), "");
}

TEST(ReportTest, PercentagesAddUpToAHundred) {
  EXPECT_THAT(percentages({1, 1, 1, 0, 0, 0}), ElementsAre(34, 33, 33, 0, 0, 0));
  EXPECT_THAT(percentages({0, 0, 0, 0, 0, 0}), ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_THAT(percentages({994, 6, 0, 0, 0, 0}), ElementsAre(99, 1, 0, 0, 0, 0));
}

TEST(ReportTest, TheSummaryIsOneLine) {
  Report report;
  report.length = 1;
  report.times = {94, 4, 1, 1, 0, 0};
  EXPECT_EQ(summary_line(report), "compute 94 %  communication 4 %  input 1 %  waiting 1 %");
  report.times = {84, 4, 1, 1, 10, 0};
  EXPECT_EQ(summary_line(report), "compute 84 %  communication 4 %  input 1 %  waiting 1 %  checkpoint 10 %");
  EXPECT_EQ(summary_line(Report{}), "nothing to measure: no two steps were recorded");
}

Report with_times(ActivityTimes times) {
  record::Log log = Synthetic(0, 1);
  std::int64_t at = 0;
  for (std::size_t i = 1; i < times.size(); ++i) {
    log.spans.push_back({static_cast<Activity>(i), 0, 0, at, at + times[i]});
    at += times[i];
  }
  log.spans.push_back({Activity::compute, 0, 0, at, at + times[0]});
  log.names = {"span"};
  return analyse(assemble({log}));
}

TEST(AdviceTest, EachThresholdHasItsSentenceAndBelowItThereIsNone) {
  EXPECT_THAT(with_times({9001, 0, 0, 999, 0, 0}).advice, IsEmpty());
  EXPECT_THAT(with_times({9000, 0, 0, 1000, 0, 0}).advice,
              ElementsAre(HasSubstr("Reading input takes 10 %")));
  EXPECT_THAT(with_times({9001, 0, 0, 0, 999, 0}).advice, IsEmpty());
  EXPECT_THAT(with_times({9000, 0, 0, 0, 1000, 0}).advice, ElementsAre(HasSubstr("Checkpoints take 10 %")));
  EXPECT_THAT(with_times({7501, 2499, 0, 0, 0, 0}).advice, IsEmpty());
  EXPECT_THAT(with_times({7500, 2500, 0, 0, 0, 0}).advice,
              ElementsAre(HasSubstr("Communication takes 25 %")));
  EXPECT_THAT(with_times({2000, 3000, 0, 5000, 0, 0}).advice,
              ElementsAre(HasSubstr("Reading input"), HasSubstr("Communication")));
}

TEST(AdviceTest, ManySmallMessagesAreToBeFused) {
  Synthetic a(0, 2), b(1, 2);
  for (int i = 0; i < 20; ++i)
    for (auto* rank : {&a, &b})
      rank->collective(static_cast<std::uint64_t>(i), i * 10, i * 10, i * 10 + 2, 4096)
          .span(Activity::communication, i * 10, i * 10 + 2);
  EXPECT_THAT(analyse(assemble({a, b})).advice,
              ElementsAre(HasSubstr("Half of the collectives carry no more than 4.1 kB (less than 66 kB)")));
}

TEST(ReportTest, JsonHasWhatScriptsNeed) {
  const auto json = to_json(analyse(skewed_run()));
  EXPECT_EQ(json.find("version")->integer(), 1);
  EXPECT_EQ(json.find("ranks")->integer(), 3);
  EXPECT_DOUBLE_EQ(json.find("interval_seconds")->number(), 1.0);
  EXPECT_DOUBLE_EQ(json.find("by_rank")->array()[0].find("seconds")->find("waiting")->number(), 0.26);
  EXPECT_EQ(json.find("by_rank")->array()[1].find("arrived_last")->integer(), 8);
  EXPECT_DOUBLE_EQ(json.find("by_rank")->array()[1].find("others_waited_seconds")->number(), 0.48);
  EXPECT_DOUBLE_EQ(json.find("metrics")->find("loss")->number(), 0.1);
  const auto text = formats::dump_json(json);
  EXPECT_EQ(formats::dump_json(formats::parse_json(text, "report")), text);
}

TEST(ReportTest, MetricsThatAreNoNumbersBecomeNull) {
  const auto run =
      assemble({Synthetic(0, 1).metrics(1, 0).metrics(2, 10, std::numeric_limits<double>::quiet_NaN())});
  EXPECT_TRUE(to_json(analyse(run)).find("metrics")->find("loss")->is(formats::Kind::null));
}

TEST(ReportTest, TimesThatMakeNoSenseAreAnError) {
  auto log = static_cast<record::Log>(Synthetic(0, 1).span(Activity::input, 0, 1));
  log.spans[0].begin = -(std::int64_t{1} << 60);
  log.spans[0].end = std::int64_t{1} << 60;
  std::vector<record::Log> logs(8, log);
  for (int i = 0; i < 8; ++i) logs[static_cast<std::size_t>(i)].rank = i;
  EXPECT_THROW((void)analyse(assemble(logs)), Error);
}

class FilesTest : public testing::Test {
 protected:
  void write(int rank, int size) {
    const auto writer = record::Writer::open(directory_.path() / "record",
                                             {.rank = rank, .size = size, .node = "node \"a\"\xff"});
    const auto at = [](std::int64_t ms) { return Instant(std::chrono::milliseconds(ms)); };
    for (std::uint64_t i = 0; i < 5; ++i) {
      const auto start = static_cast<std::int64_t>(i) * 100;
      writer->span(record::Activity::communication, "wait \\ \"quoted\"", at(start), at(start + 30));
      writer->collective(i, "gradients\x01", 1000, at(start), at(start + 10), at(start + 30));
      writer->metrics(i, 5,
                      std::vector<std::pair<std::string_view, double>>{{"loss", 0.5}, {"bad", std::nan("")}});
    }
  }
  TemporaryDirectory directory_;
};

TEST_F(FilesTest, ARunsDirectoryAndItsRecordDirectoryAreTheSame) {
  write(0, 2);
  write(1, 2);
  EXPECT_EQ(load(directory_.path()).ranks.size(), 2u);
  EXPECT_EQ(load(directory_.path() / "record").ranks.size(), 2u);
}

TEST_F(FilesTest, NothingToReportIsSaid) {
  EXPECT_THROW((void)load(directory_.path() / "absent"), Error);
  try {
    (void)load(directory_.path());
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("there is nothing to report in"));
  }
}

TEST_F(FilesTest, AnUnreadableLogIsLeftOutAndTold) {
  write(0, 2);
  std::ofstream(directory_.path() / "record" / "rank-00001.rec")
      << "this is certainly not a record log at all";
  const auto run = load(directory_.path());
  EXPECT_EQ(run.ranks.size(), 1u);
  EXPECT_THAT(run.problems,
              ElementsAre(HasSubstr("rank-00001.rec cannot be read: "), "there is no log of rank 1"));
}

TEST_F(FilesTest, TheTimelineIsJsonWithMatchedSlices) {
  write(0, 2);
  write(1, 2);
  const auto file = directory_.path() / "timeline.json";
  write_timeline(load(directory_.path()), file);
  const auto json = formats::parse_json(read_file(file), "timeline");
  std::map<std::string, int> phases;
  for (const auto& event : json.find("traceEvents")->array()) {
    ++phases[event.find("ph")->text()];
    EXPECT_TRUE(event.find("pid")->is(formats::Kind::integer));
    const auto* time = event.find("ts");
    EXPECT_TRUE(time == nullptr ? event.find("ph")->text() == "M" : time->number() >= 0);
  }
  EXPECT_EQ(phases["X"], 10);
  EXPECT_EQ(phases["b"], 20);
  EXPECT_EQ(phases["e"], 20);
  EXPECT_EQ(phases["C"], 10);  // NaN is left out
  EXPECT_EQ(phases["M"], 3);   // one node, two ranks
}

// Logs as somebody else might have written them: valid blocks with bytes changed, under a right CRC.
TEST_F(FilesTest, HostileLogsGiveReportsOrErrors) {
  write(0, 2);
  write(1, 2);
  const auto path = record::log_path(directory_.path() / "record", 0);
  std::vector<std::string> blocks;
  {
    RecordLogReader reader(path);
    while (const auto block = reader.next()) blocks.emplace_back(block->payload);
  }
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    std::filesystem::remove(path);
    {
      RecordLogWriter log(path);
      for (auto block : blocks) {
        for (auto changes = random() % 6; changes > 0; --changes)
          block[random() % block.size()] = static_cast<char>(random());
        log.append(block);
      }
    }
    try {
      const auto run = load(directory_.path());
      const auto report = analyse(run);
      (void)formats::dump_json(to_json(report));
      write_timeline(run, directory_.path() / "timeline.json");
      (void)formats::parse_json(read_file(directory_.path() / "timeline.json"), "timeline");
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace longship::trace
