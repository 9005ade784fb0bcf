// SPDX-License-Identifier: Apache-2.0
#include "run.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace longship::trace {
namespace fs = std::filesystem;
namespace {

constexpr Interval nothing{std::numeric_limits<std::int64_t>::max(),
                           std::numeric_limits<std::int64_t>::min()};

void include(Interval& interval, std::int64_t begin, std::int64_t end) {
  interval.begin = std::min(interval.begin, begin);
  interval.end = std::max(interval.end, end);
}

Interval all_of(const record::Log& log) {
  Interval interval = nothing;
  for (const auto& span : log.spans) include(interval, span.begin, span.end);
  for (const auto& collective : log.collectives) include(interval, collective.arrived, collective.end);
  for (const auto& metrics : log.metrics) include(interval, metrics.at, metrics.at);
  return interval;
}

void align(record::Log& log) {
  const auto offset = log.clock_offset;
  log.start += offset;
  for (auto& span : log.spans) span.begin += offset, span.end += offset;
  for (auto& metrics : log.metrics) metrics.at += offset;
  for (auto& collective : log.collectives) {
    collective.arrived += offset;
    collective.begin += offset;
    collective.end += offset;
  }
}

std::vector<fs::path> logs_in(const fs::path& directory) {
  std::vector<fs::path> paths;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    const auto name = entry.path().filename().string();
    if (name.starts_with("rank-") && name.ends_with(".rec")) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// "rank 3", "ranks 3, 5 and 7", and many are cut short.
std::string ranks_words(const std::vector<int>& ranks) {
  constexpr std::size_t most = 8;
  std::string words = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(ranks.size(), most); ++i)
    words += fmt::format("{}{}", i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ", ranks[i]);
  if (ranks.size() > most) words += fmt::format(" and {} others", ranks.size() - most);
  return words;
}

void tell_problems(Run& run) {
  std::vector<int> missing;
  std::size_t next = 0;
  for (int rank = 0; rank < run.size && missing.size() < 1000; ++rank) {
    if (next < run.ranks.size() && run.ranks[next].rank == rank)
      ++next;
    else
      missing.push_back(rank);
  }
  if (!missing.empty()) run.problems.push_back(fmt::format("there is no log of {}", ranks_words(missing)));
  for (const auto& log : run.ranks) {
    if (!log.problem.empty())
      run.problems.push_back(
          fmt::format("the log of rank {} ends early: {}", log.rank, printable(log.problem)));
    if (log.lost > 0)
      run.problems.push_back(
          fmt::format("rank {} could not record {} entries: its disk was too slow", log.rank, log.lost));
  }
}

}  // namespace

Run load(const fs::path& directory) {
  if (!fs::is_directory(directory))
    throw Error(Failure::usage, "there is no directory {}", directory.string());
  (void)open_file(directory, O_RDONLY | O_DIRECTORY);  // who may not look would find nothing
  auto paths = logs_in(directory);
  if (paths.empty()) paths = logs_in(directory / "record");
  if (paths.empty())
    throw Error(
        "there is nothing to report in {}: no rank has recorded anything (rank-*.rec); scripts record when "
        "they "
        "import longship.torch or longship.trace",
        directory.string());
  std::vector<record::Log> logs;
  std::vector<std::string> problems;
  for (const auto& path : paths) {
    try {
      logs.push_back(record::read_log(path));
    } catch (const Error& error) {
      problems.push_back(
          fmt::format("{} cannot be read: {}", path.filename().string(), printable(error.what())));
    }
  }
  if (logs.empty())
    throw Error("none of the {} logs in {} can be read: {}", paths.size(), directory.string(), problems[0]);
  auto run = assemble(std::move(logs));
  run.problems.insert(run.problems.begin(), problems.begin(), problems.end());
  return run;
}

Run assemble(std::vector<record::Log> logs) {
  Run run;
  std::stable_sort(logs.begin(), logs.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  for (auto& log : logs) {
    if (!run.ranks.empty() && run.ranks.back().rank == log.rank) {
      run.problems.push_back(fmt::format("two logs say that they are of rank {}: one is left out", log.rank));
      continue;
    }
    align(log);
    run.size = std::max({run.size, log.size, log.rank + 1});
    run.ranks.push_back(std::move(log));
  }
  tell_problems(run);
  return run;
}

Interval training_interval(const Run& run) {
  Interval steps = nothing, all = nothing;
  for (const auto& log : run.ranks) {
    for (const auto& metrics : log.metrics) include(steps, metrics.at, metrics.at);
    if (const auto own = all_of(log); own.length() > 0) include(all, own.begin, own.end);
  }
  if (steps.length() > 0) return steps;
  return all.length() > 0 ? all : Interval{};
}

Interval training_interval(const record::Log& log, const Interval& whole) {
  const auto own = all_of(log);
  const Interval part{std::max(own.begin, whole.begin), std::min(own.end, whole.end)};
  return part.length() > 0 ? part : Interval{whole.begin, whole.begin};
}

std::uint32_t training_lane(const record::Log& log) {
  if (!log.metrics.empty()) return log.metrics.front().lane;
  std::map<std::uint32_t, std::size_t> spans;
  for (const auto& span : log.spans) ++spans[span.lane];
  if (spans.empty() || spans.contains(0)) return 0;
  const auto most =
      std::max_element(spans.begin(), spans.end(), [](auto& a, auto& b) { return a.second < b.second; });
  return most->first;
}

}  // namespace longship::trace
