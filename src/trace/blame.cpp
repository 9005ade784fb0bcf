// SPDX-License-Identifier: Apache-2.0
#include "blame.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

namespace longship::trace {
namespace {

struct Arrivals {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  std::size_t last_rank = 0;  // index into Run::ranks
  std::size_t ranks = 0;
  [[nodiscard]] bool has_last() const { return ranks > 1 && last - first >= together; }
};
using AllArrivals = std::unordered_map<std::uint64_t, Arrivals>;

// In order of their sequence, each once.
std::vector<record::Collective> in_order(const record::Log& log) {
  auto collectives = log.collectives;
  std::stable_sort(collectives.begin(), collectives.end(),
                   [](const auto& a, const auto& b) { return a.sequence < b.sequence; });
  const auto end = std::unique(collectives.begin(), collectives.end(),
                               [](const auto& a, const auto& b) { return a.sequence == b.sequence; });
  collectives.erase(end, collectives.end());
  return collectives;
}

AllArrivals gather(const std::vector<std::vector<record::Collective>>& collectives) {
  AllArrivals all;
  for (std::size_t rank = 0; rank < collectives.size(); ++rank) {
    for (const auto& collective : collectives[rank]) {
      auto& arrivals = all[collective.sequence];
      ++arrivals.ranks;
      arrivals.first = std::min(arrivals.first, collective.arrived);
      if (collective.arrived <= arrivals.last) continue;
      arrivals.last = collective.arrived;
      arrivals.last_rank = rank;
    }
  }
  return all;
}

using WaitedFor = std::map<std::size_t, std::int64_t>;  // ns, by index into Run::ranks

// Walks one rank's waiting along its collectives, in order, and hands each piece to who was waited for.
WaitedFor blame_waiting(const std::vector<record::Collective>& collectives, const Intervals& waiting,
                        std::size_t self, const AllArrivals& all) {
  WaitedFor waited_for;
  std::int64_t blamed_until = std::numeric_limits<std::int64_t>::min();
  auto piece = waiting.begin();
  for (const auto& collective : collectives) {
    const auto& arrivals = all.at(collective.sequence);
    if (!arrivals.has_last() || arrivals.last_rank == self) continue;
    const Interval waited{std::max(blamed_until, collective.arrived), arrivals.last};
    while (piece != waiting.end() && piece->end <= waited.begin) ++piece;
    for (auto next = piece; next != waiting.end() && next->begin < waited.end; ++next) {
      const Interval common{std::max(next->begin, waited.begin), std::min(next->end, waited.end)};
      if (common.length() > 0) waited_for[arrivals.last_rank] += common.length();
    }
    blamed_until = std::max(blamed_until, arrivals.last);
  }
  return waited_for;
}

}  // namespace

BlameResult blame(const Run& run, std::span<const Breakdown> breakdowns, const Interval& interval) {
  std::vector<std::vector<record::Collective>> collectives;
  for (const auto& log : run.ranks) collectives.push_back(in_order(log));
  const auto all = gather(collectives);

  BlameResult result;
  result.ranks.resize(run.ranks.size());
  for (const auto& [sequence, arrivals] : all) {
    if (arrivals.ranks < 2 || arrivals.last < interval.begin || arrivals.last > interval.end) continue;
    ++result.collectives;
    if (arrivals.has_last()) ++result.ranks[arrivals.last_rank].last;
  }
  for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
    Blame& own = result.ranks[rank];
    for (const auto& [other, time] : blame_waiting(collectives[rank], breakdowns[rank].waiting, rank, all)) {
      result.ranks[other].caused += time;
      if (time <= own.for_that) continue;
      own.for_that = time;
      own.waited_for = run.ranks[other].rank;
    }
  }
  return result;
}

}  // namespace longship::trace
