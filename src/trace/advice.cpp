// SPDX-License-Identifier: Apache-2.0
#include "advice.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "formats/number.h"
#include "formats/units.h"

namespace longship::trace {
namespace {

using record::Activity;

// Below these a change would not be worth its trouble.
constexpr double much_input = 0.10;
constexpr double much_checkpoint = 0.10;
constexpr double much_communication = 0.25;
constexpr double some_communication = 0.10;
constexpr double often_last = 0.50,
                 over_fair_share = 1.5;  // of two ranks one is last half of the time by chance
constexpr double long_waited = 0.05;
constexpr std::uint64_t small_message = 65536;
constexpr std::uint64_t many_collectives = 10;

struct Advice {
  double cost;  // share of the time that it is about
  std::string sentence;
};

double total(const Report& report) {
  return static_cast<double>(std::accumulate(report.times.begin(), report.times.end(), std::int64_t{0}));
}

double share(const Report& report, Activity activity) {
  const double all = total(report);
  return all > 0 ? static_cast<double>(report.times[static_cast<std::size_t>(activity)]) / all : 0;
}

void about_input(const Report& report, std::vector<Advice>& advice) {
  const double input = share(report, Activity::input);
  if (input < much_input) return;
  advice.push_back(
      {input,
       fmt::format("Reading input takes {} of the time (more than {}): give the loader more workers, or "
                   "bring the data closer to the node.",
                   formats::percent(input), formats::percent(much_input))});
}

void about_checkpoints(const Report& report, std::vector<Advice>& advice) {
  const double checkpoint = share(report, Activity::checkpoint);
  if (checkpoint < much_checkpoint) return;
  advice.push_back(
      {checkpoint, fmt::format("Checkpoints take {} of the time (more than {}): write them less often.",
                               formats::percent(checkpoint), formats::percent(much_checkpoint))});
}

void about_communication(const Report& report, std::vector<Advice>& advice) {
  const double communication = share(report, Activity::communication);
  const bool small = report.median_bytes < small_message && report.collectives >= many_collectives;
  if (small && communication >= some_communication) {
    advice.push_back(
        {communication, fmt::format("Half of the collectives carry no more than {} (less than {}), and "
                                    "communication takes {} of the time: send fewer and larger ones.",
                                    formats::human_bytes(report.median_bytes),
                                    formats::human_bytes(small_message), formats::percent(communication))});
  } else if (communication >= much_communication) {
    const double hidden =
        report.moving > 0 ? static_cast<double>(report.hidden) / static_cast<double>(report.moving) : 0;
    advice.push_back({communication,
                      fmt::format("Communication takes {} of the time (more than {}), and {} of it is hidden "
                                  "beneath computation: use larger batches per rank, or fewer ranks.",
                                  formats::percent(communication), formats::percent(much_communication),
                                  formats::percent(hidden))});
  }
}

void about_stragglers(const Report& report, std::vector<Advice>& advice) {
  if (report.collectives < many_collectives || report.ranks.size() < 2) return;
  const auto& worst = *std::max_element(report.ranks.begin(), report.ranks.end(),
                                        [](const auto& a, const auto& b) { return a.caused < b.caused; });
  const double last = static_cast<double>(worst.last) / static_cast<double>(report.collectives);
  const double own =
      static_cast<double>(std::accumulate(worst.times.begin(), worst.times.end(), std::int64_t{0}));
  const double others = total(report) - own;
  const double waited = others > 0 ? static_cast<double>(worst.caused) / others : 0;
  const double often = std::max(often_last, over_fair_share / static_cast<double>(report.ranks.size()));
  if (last < often || waited < long_waited) return;
  advice.push_back(
      {waited,
       fmt::format("Rank {} on {} arrived last in {} of the collectives (more than {}), which cost the "
                   "others {} of their time (more than {}): look at its node, or at its share of the "
                   "data.",
                   worst.rank, worst.node, formats::percent(last), formats::percent(often),
                   formats::percent(waited), formats::percent(long_waited))});
}

}  // namespace

std::vector<std::string> advise(const Report& report) {
  std::vector<Advice> advice;
  about_input(report, advice);
  about_stragglers(report, advice);
  about_communication(report, advice);
  about_checkpoints(report, advice);
  std::stable_sort(advice.begin(), advice.end(),
                   [](const auto& a, const auto& b) { return a.cost > b.cost; });
  std::vector<std::string> sentences;
  for (auto& one : advice) sentences.push_back(std::move(one.sentence));
  return sentences;
}

}  // namespace longship::trace
