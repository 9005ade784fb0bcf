// SPDX-License-Identifier: Apache-2.0
// A trial's values put where its command finds them: {lr} in the command and in the environment, all of them
// as JSON in LONGSHIP_VALUES, and in a file if the study asks for one.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "engine.h"
#include "job/job.h"
#include "study_file.h"

namespace longship::sweep {

struct Filled {
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;
};

// {lr} becomes its value, {trial} the number; "{{" is a brace. A parameter that the trial does not have is
// empty; a name that the study does not know is an Error.
[[nodiscard]] Filled fill(const StudyFile& file, const std::vector<std::string>& command,
                          const std::map<std::string, std::string>& environment, const Start& start);
[[nodiscard]] job::Job fill(const StudyFile& file, job::Job job, const Start& start);
// Complains before the first trial about what would fail in each.
void check_placeholders(const StudyFile& file, const std::vector<std::string>& command,
                        const std::map<std::string, std::string>& environment);

}  // namespace longship::sweep
