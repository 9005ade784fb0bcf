// SPDX-License-Identifier: Apache-2.0
// All that has to hold of the state between two events: a sentence for each thing that does not. Tests ask
// after every step.
#pragma once
#include <string>
#include <vector>

#include "state.h"

namespace longship::hub {

[[nodiscard]] std::vector<std::string> invariants(const State& state);

}  // namespace longship::hub
