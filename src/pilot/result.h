// SPDX-License-Identifier: Apache-2.0
// result.json: how an attempt went, for scripts and for whoever finds the directory in a year.
#pragma once
#include <string>

#include "pilot.h"

namespace longship::pilot {

[[nodiscard]] std::string result_json(const Attempt& attempt, const Task& task, const Ground& ground,
                                      const Outcome& outcome);

}  // namespace longship::pilot
