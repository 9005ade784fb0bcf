// SPDX-License-Identifier: Apache-2.0
// Logs → where the time went, who was waited for, and what to change: docs/analysis.md defines each figure.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "breakdown.h"
#include "formats/document.h"
#include "overhead.h"
#include "run.h"

namespace longship::trace {

struct RankReport {
  int rank = 0;
  std::string node;
  ActivityTimes times{};      // ns; their sum is the interval in which this rank was there
  std::int64_t hidden = 0;    // ns that its collectives moved data while it computed
  int waited_for = -1;        // the rank that it waited for longest, if it did
  std::int64_t for_that = 0;  // ns
  std::uint64_t last = 0;     // collectives in which it arrived last
  std::int64_t caused = 0;    // ns that others were blocked until it came
};

struct Report {
  int size = 0;             // ranks that took part; `ranks` has those with a log
  std::int64_t length = 0;  // ns of the interval that this is about
  ActivityTimes times{};    // ns, all ranks summed
  std::int64_t moving = 0,
               hidden = 0;  // ns, all ranks summed: collectives that moved data, and beneath computation
  std::uint64_t collectives = 0;                        // that at least two ranks recorded
  std::uint64_t median_bytes = 0;                       // of a collective
  Overhead recording;                                   // all ranks summed
  std::uint64_t steps = 0;                              // between the first and the last metrics
  std::vector<std::pair<std::string, double>> metrics;  // the last ones
  std::vector<RankReport> ranks;
  std::vector<std::string> advice;    // sentences, the costliest first
  std::vector<std::string> problems;  // of the logs themselves
};

[[nodiscard]] Report analyse(const Run& run);

// Shares of the time of all ranks, in whole per cent that add up to 100.
[[nodiscard]] std::array<int, record::activity_names.size()> percentages(const ActivityTimes& times);

// "compute 94 %  communication 4 %  input 1 %  waiting 1 %"; checkpoint and other only where there were any.
[[nodiscard]] std::string summary_line(const Report& report);

// "arrived last in 73 % of 812 collectives; the others waited 1.2 s for it", or nothing if no rank stands
// out.
[[nodiscard]] std::string straggler_words(const Report& report);

// "recording took 0.13 % of the time: 1 240 entries of 2.1 µs on average"; nothing if nothing was recorded.
[[nodiscard]] std::string recording_words(const Report& report);

// For --json; times in seconds.
[[nodiscard]] formats::Value to_json(const Report& report);

}  // namespace longship::trace
