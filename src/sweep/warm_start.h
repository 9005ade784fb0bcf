// SPDX-License-Identifier: Apache-2.0
// Trials of an earlier study, made known to a new one.
#pragma once
#include <filesystem>

#include "study/study.h"
#include "study_file.h"

namespace longship::sweep {

// Those that ended with values, and fit the space; each once, however often this is called. How many came.
std::size_t take_trials_from(const std::filesystem::path& directory, study::Study& study,
                             const StudyFile& file);

}  // namespace longship::sweep
