// SPDX-License-Identifier: Apache-2.0
// How far a study has come, and how long the rest will take.
#pragma once
#include <cstdint>
#include <optional>

#include "study/history.h"
#include "study_file.h"

namespace longship::sweep {

struct Pace {
  std::uint64_t over = 0;      // trials that ended, as the budget counts them
  std::uint64_t expected = 0;  // 0: the budget is not one of trials
  std::optional<double> left;  // seconds; nothing if no trial runs, or too few have ended to tell
};

[[nodiscard]] Pace pace_of(const study::History& history, const StudyFile& file);

}  // namespace longship::sweep
