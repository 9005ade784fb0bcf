// SPDX-License-Identifier: Apache-2.0
// A study as JSON and CSV, for other programs, the page of plots, and whoever likes tables.
#pragma once
#include <string>

#include "formats/document.h"
#include "study/study.h"
#include "study_file.h"

namespace longship::sweep {

// Without a file (a study from Python) objectives are called value, or value 1, value 2, …
[[nodiscard]] std::vector<Objective> objectives_of(const study::History& history, const StudyFile* file);

// {"name", "objectives", "counts", "best": [trials]}. Numbers that JSON lacks are the texts "inf", "-inf" and
// "nan".
[[nodiscard]] formats::Table summary_json(const study::Study& study, const StudyFile* file);
// The same with parameters, their importance, and all trials.
[[nodiscard]] formats::Table study_json(const study::Study& study, const StudyFile* file);
[[nodiscard]] formats::Table trial_json(const study::History& history, const study::Trial& trial);
// One line for each trial: number, state, objectives, parameters, times, reason.
[[nodiscard]] std::string study_csv(const study::Study& study, const StudyFile* file);

}  // namespace longship::sweep
