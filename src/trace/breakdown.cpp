// SPDX-License-Identifier: Apache-2.0
#include "breakdown.h"

#include <algorithm>
#include <vector>

#include "run.h"

namespace longship::trace {
namespace {

using record::Activity;
using Sets = std::array<Intervals, record::activity_names.size()>;

auto& of(auto& by_activity, Activity activity) {
  return by_activity[static_cast<std::size_t>(activity)];
}

// The moments of each activity in one thread: at each moment the innermost span counts.
Sets innermost(const record::Log& log, std::uint32_t lane) {
  std::vector<record::Span> spans;
  std::copy_if(log.spans.begin(), log.spans.end(), std::back_inserter(spans),
               [lane](const auto& span) { return span.lane == lane; });
  std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  Sets sets;
  std::vector<record::Span> open;
  std::int64_t at = 0;
  const auto advance = [&](std::int64_t to) {
    if (to > at && !open.empty()) of(sets, open.back().activity).push_back({at, to});
    at = std::max(at, to);
  };
  const auto close_until = [&](std::int64_t time) {
    while (!open.empty() && open.back().end <= time) {
      advance(open.back().end);
      open.pop_back();
    }
  };
  if (!spans.empty()) at = spans.front().begin;
  for (const auto& span : spans) {
    close_until(span.begin);
    advance(span.begin);
    open.push_back(span);
  }
  while (!open.empty()) close_until(open.back().end);
  for (auto& set : sets) set = normalized(std::move(set));
  return sets;
}

struct Traffic {
  Intervals moving, arriving;
};

Traffic traffic_of(const record::Log& log) {
  Traffic traffic;
  for (const auto& collective : log.collectives) {
    traffic.moving.push_back({collective.begin, collective.end});
    traffic.arriving.push_back({collective.arrived, collective.begin});
  }
  return {normalized(std::move(traffic.moving)), normalized(std::move(traffic.arriving))};
}

}  // namespace

Breakdown break_down(const record::Log& log, const Interval& interval) {
  Sets sets = innermost(log, training_lane(log));
  const Intervals whole = normalized({interval});
  for (auto& set : sets) set = intersect(set, whole);

  const auto traffic = traffic_of(log);
  auto& communication = of(sets, Activity::communication);
  auto& waiting = of(sets, Activity::waiting);
  const auto waited = intersect(subtract(communication, traffic.moving), traffic.arriving);
  communication = subtract(communication, waited);
  waiting = unite(waiting, waited);

  Breakdown breakdown;
  breakdown.interval = interval;
  std::int64_t rest = interval.length();
  for (std::size_t i = 0; i < sets.size(); ++i) {
    breakdown.times[i] = length(sets[i]);
    rest -= breakdown.times[i];
  }
  of(breakdown.times, Activity::compute) += rest;
  const auto moving = intersect(traffic.moving, whole);
  breakdown.moving = length(moving);
  breakdown.hidden = breakdown.moving - length(intersect(moving, unite(communication, waiting)));
  breakdown.waiting = waiting;
  return breakdown;
}

}  // namespace longship::trace
