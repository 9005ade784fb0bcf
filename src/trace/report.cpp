// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "advice.h"
#include "base/error.h"
#include "base/text.h"
#include "blame.h"
#include "formats/number.h"

namespace longship::trace {
namespace {

using record::Activity;

constexpr std::int64_t longest_run = std::int64_t{1} << 32;  // seconds, of all ranks together

double seconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-9;
}

std::uint64_t median_bytes(const Run& run, const Interval& interval) {
  std::vector<std::uint64_t> sizes;
  for (const auto& log : run.ranks)
    for (const auto& collective : log.collectives)
      if (collective.end >= interval.begin && collective.arrived <= interval.end)
        sizes.push_back(collective.bytes);
  if (sizes.empty()) return 0;
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>((sizes.size() - 1) / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  return *middle;
}

// Of the lowest rank that reported any.
void add_metrics(const Run& run, Report& report) {
  for (const auto& log : run.ranks) {
    if (log.metrics.empty()) continue;
    const auto& first = log.metrics.front();
    const auto& last = log.metrics.back();
    report.steps = last.step > first.step ? last.step - first.step : 0;
    for (const auto& [name, value] : last.values)
      report.metrics.emplace_back(printable(log.names[name]), value);
    return;
  }
}

formats::Table times_json(const ActivityTimes& times) {
  formats::Table table;
  for (std::size_t i = 0; i < times.size(); ++i)
    table.set(std::string(record::activity_names[i]), seconds(times[i]));
  return table;
}

formats::Array texts_json(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

formats::Table rank_json(const RankReport& rank) {
  formats::Table table;
  table.set("rank", rank.rank);
  table.set("node", rank.node);
  table.set("seconds", times_json(rank.times));
  table.set("hidden_seconds", seconds(rank.hidden));
  table.set("waited_for", rank.waited_for < 0 ? formats::Value() : formats::Value(rank.waited_for));
  table.set("waited_for_seconds", seconds(rank.for_that));
  table.set("arrived_last", rank.last);
  table.set("others_waited_seconds", seconds(rank.caused));
  return table;
}

}  // namespace

Report analyse(const Run& run) {
  const auto interval = training_interval(run);
  // Damaged or hostile logs: sums over all ranks must not overflow.
  if (interval.length() / std::int64_t{1'000'000'000} >
      longest_run / static_cast<std::int64_t>(run.ranks.size() + 1))
    throw Error("the times in these logs make no sense: they are {} apart",
                formats::human_seconds(seconds(interval.length())));
  std::vector<Breakdown> breakdowns;
  for (const auto& log : run.ranks) breakdowns.push_back(break_down(log, training_interval(log, interval)));
  const auto blames = blame(run, breakdowns, interval);

  Report report;
  report.size = run.size;
  report.length = interval.length();
  report.collectives = blames.collectives;
  report.median_bytes = median_bytes(run, interval);
  report.problems = run.problems;
  for (std::size_t i = 0; i < run.ranks.size(); ++i) {
    const auto& breakdown = breakdowns[i];
    report.moving += breakdown.moving;
    report.hidden += breakdown.hidden;
    for (std::size_t a = 0; a < report.times.size(); ++a) report.times[a] += breakdown.times[a];
    const Blame& blamed = blames.ranks[i];
    report.ranks.push_back({run.ranks[i].rank, printable(run.ranks[i].node), breakdown.times,
                            breakdown.hidden, blamed.waited_for, blamed.for_that, blamed.last,
                            blamed.caused});
    const auto recording = overhead(run.ranks[i], interval);
    report.recording.entries += recording.entries;
    report.recording.cost += recording.cost;
  }
  add_metrics(run, report);
  report.advice = advise(report);
  return report;
}

// By largest remainders: each is rounded down, and what is missing to 100 goes to those that lost most.
std::array<int, record::activity_names.size()> percentages(const ActivityTimes& times) {
  std::array<int, record::activity_names.size()> shares{};
  const auto all = static_cast<double>(std::accumulate(times.begin(), times.end(), std::int64_t{0}));
  if (all <= 0) return shares;
  std::array<std::size_t, record::activity_names.size()> order{};
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto exact = [&](std::size_t i) { return 100 * static_cast<double>(times[i]) / all; };
  int missing = 100;
  for (std::size_t i = 0; i < times.size(); ++i)
    missing -= shares[i] = static_cast<int>(std::floor(exact(i)));
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return exact(a) - shares[a] > exact(b) - shares[b]; });
  for (int i = 0; i < missing; ++i) ++shares[order[static_cast<std::size_t>(i) % order.size()]];
  return shares;
}

std::string summary_line(const Report& report) {
  if (report.length == 0) return "nothing to measure: no two steps were recorded";
  const auto shares = percentages(report.times);
  std::vector<Activity> shown = {Activity::compute, Activity::communication, Activity::input,
                                 Activity::waiting};
  for (const auto more : {Activity::checkpoint, Activity::other})
    if (shares[static_cast<std::size_t>(more)] > 0) shown.push_back(more);
  std::vector<std::string> words;
  for (const auto activity : shown)
    words.push_back(fmt::format("{} {} %", name_of(activity), shares[static_cast<std::size_t>(activity)]));
  return join(words, "  ");
}

std::string straggler_words(const Report& report) {
  if (report.collectives == 0 || report.ranks.size() < 2) return {};
  const auto worst = std::max_element(report.ranks.begin(), report.ranks.end(),
                                      [](const auto& a, const auto& b) { return a.caused < b.caused; });
  if (worst->caused == 0) return {};
  const double share = static_cast<double>(worst->last) / static_cast<double>(report.collectives);
  return fmt::format("rank {} arrived last in {} of {} collectives; others waited {} for it", worst->rank,
                     formats::percent(share), formats::grouped(report.collectives),
                     formats::human_seconds(seconds(worst->caused)));
}

std::string recording_words(const Report& report) {
  const auto all = std::accumulate(report.times.begin(), report.times.end(), std::int64_t{0});
  if (report.recording.entries == 0 || all <= 0) return {};
  const auto cost = static_cast<double>(report.recording.cost);
  return fmt::format("recording took {:.2g} % of the time: {} entries of {:.1f} µs on average",
                     100 * cost / static_cast<double>(all), formats::grouped(report.recording.entries),
                     cost * 1e-3 / static_cast<double>(report.recording.entries));
}

formats::Value to_json(const Report& report) {
  formats::Table table;
  table.set("version", 1);
  table.set("ranks", report.size);
  table.set("interval_seconds", seconds(report.length));
  table.set("steps", report.steps);
  table.set("seconds", times_json(report.times));
  formats::Table collectives;
  collectives.set("count", report.collectives);
  collectives.set("median_bytes", report.median_bytes);
  collectives.set("moving_seconds", seconds(report.moving));
  collectives.set("hidden_seconds", seconds(report.hidden));
  table.set("collectives", std::move(collectives));
  formats::Table recording;
  recording.set("entries", report.recording.entries);
  recording.set("seconds", seconds(report.recording.cost));
  table.set("recording", std::move(recording));
  formats::Table metrics;
  for (const auto& [name, value] : report.metrics)
    metrics.set(name, std::isfinite(value) ? formats::Value(value) : formats::Value());
  table.set("metrics", std::move(metrics));
  formats::Array ranks;
  for (const auto& rank : report.ranks) ranks.emplace_back(rank_json(rank));
  table.set("by_rank", std::move(ranks));
  table.set("advice", texts_json(report.advice));
  table.set("problems", texts_json(report.problems));
  return table;
}

}  // namespace longship::trace
