// SPDX-License-Identifier: Apache-2.0
// What recording took from the training that it tells of: so many entries, each of a known price.
#pragma once
#include <cstdint>

#include "interval.h"
#include "record/reader.h"

namespace longship::trace {

// What an entry costs the process that makes it, in ns: medians of `./dev bench training --only recording` on
// a slow machine. Spans and metrics come from Python, whose calls are most of it; collectives from the
// library itself.
inline constexpr std::int64_t span_cost = 2500;
inline constexpr std::int64_t metrics_cost = 3500;
inline constexpr std::int64_t collective_cost = 250;

struct Overhead {
  std::uint64_t entries = 0;
  std::int64_t cost = 0;  // ns
};

// Of one rank, within the interval.
[[nodiscard]] Overhead overhead(const record::Log& log, const Interval& interval);

}  // namespace longship::trace
