// SPDX-License-Identifier: Apache-2.0
#include "overhead.h"

#include <algorithm>

namespace longship::trace {
namespace {

// Entries are made at their end.
std::uint64_t within(const auto& entries, const Interval& interval, auto time) {
  return static_cast<std::uint64_t>(std::count_if(entries.begin(), entries.end(), [&](const auto& entry) {
    return entry.*time >= interval.begin && entry.*time <= interval.end;
  }));
}

}  // namespace

Overhead overhead(const record::Log& log, const Interval& interval) {
  const std::uint64_t spans = within(log.spans, interval, &record::Span::end);
  const std::uint64_t collectives = within(log.collectives, interval, &record::Collective::end);
  const std::uint64_t metrics = within(log.metrics, interval, &record::Metrics::at);
  return {spans + collectives + metrics, static_cast<std::int64_t>(spans) * span_cost +
                                             static_cast<std::int64_t>(collectives) * collective_cost +
                                             static_cast<std::int64_t>(metrics) * metrics_cost};
}

}  // namespace longship::trace
