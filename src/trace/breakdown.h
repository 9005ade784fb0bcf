// SPDX-License-Identifier: Apache-2.0
// Where one rank's time went.
//
// Collectives run in a background thread while the training thread computes, so the length of a collective
// says nothing about what it cost. What counts is what the training thread was blocked in: its spans, the
// innermost where they nest; the rest is compute. A span of communication is split by this rank's own
// collectives: while one of them moves it is communication; while none moves but one has arrived and the
// others have not, it is waiting.
#pragma once
#include <array>
#include <cstdint>

#include "interval.h"
#include "record/activity.h"
#include "record/reader.h"

namespace longship::trace {

using ActivityTimes = std::array<std::int64_t, record::activity_names.size()>;  // ns, by Activity

struct Breakdown {
  Interval interval;  // the sum of `times` is its length
  ActivityTimes times{};
  Intervals waiting;        // when it waited, for the blame
  std::int64_t moving = 0;  // when a collective of this rank moved data
  std::int64_t hidden = 0;  // the part of that during which the training thread was not blocked for it
};

[[nodiscard]] Breakdown break_down(const record::Log& log, const Interval& interval);

}  // namespace longship::trace
