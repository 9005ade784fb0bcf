// SPDX-License-Identifier: Apache-2.0
// `longship launch`: a plan carried out here, or on all nodes of the allocation we are in.
#pragma once
#include <optional>

#include "node.h"
#include "plan.h"

namespace longship::launch {

// The ranks of a plan with one node, on this one.
[[nodiscard]] Result run_here(const Plan& plan, Surroundings& surroundings);

// Tells the user which rank failed, how, and what it said last. Nothing if all went well.
void tell(const Result& result);

[[nodiscard]] std::string name_of_this_node();  // as the batch system calls it, else the host's name

}  // namespace longship::launch
