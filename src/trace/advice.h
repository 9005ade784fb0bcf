// SPDX-License-Identifier: Apache-2.0
// What to change, as few sentences as possible: each names its figure and the threshold that it crossed.
#pragma once
#include <string>
#include <vector>

#include "report.h"

namespace longship::trace {

[[nodiscard]] std::vector<std::string> advise(const Report& report);

}  // namespace longship::trace
