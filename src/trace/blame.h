// SPDX-License-Identifier: Apache-2.0
// Who kept the others waiting. An all-reduce makes all ranks equally slow, so no rank's own log shows the
// straggler: it is the rank that arrived last, collective by collective, on aligned clocks.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "breakdown.h"
#include "run.h"

namespace longship::trace {

// Ranks that arrive within this time of each other arrived together: clocks of different machines agree no
// better.
inline constexpr std::int64_t together = 100'000;  // ns

struct Blame {
  std::uint64_t last = 0;  // collectives in which this rank arrived last, and not together with the first
  std::int64_t caused =
      0;  // ns that the training threads of others were blocked until it came, all of them summed
  int waited_for = -1;        // the rank that kept this one waiting for longest, if any did
  std::int64_t for_that = 0;  // ns
};

struct BlameResult {
  std::vector<Blame> ranks;       // parallel to Run::ranks
  std::uint64_t collectives = 0;  // that at least two ranks recorded, within the interval
};

// `breakdowns` parallel to Run::ranks. A moment of waiting is blamed once: on the earliest collective not yet
// begun.
[[nodiscard]] BlameResult blame(const Run& run, std::span<const Breakdown> breakdowns,
                                const Interval& interval);

}  // namespace longship::trace
