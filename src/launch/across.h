// SPDX-License-Identifier: Apache-2.0
// A plan carried out on all nodes of an allocation: the launcher's side, and the helper's, of which srun
// starts one per node. frames.h tells what they say to each other.
#pragma once
#include <string>
#include <vector>

#include "node.h"
#include "plan.h"

namespace longship::launch {

// `helper` is the command that runs help() on a node; `screen` is `surroundings.sink`.
[[nodiscard]] Result run_across(const Plan& plan, const std::vector<std::string>& helper, Screen& screen,
                                Surroundings& surroundings);

// The node's side: plan from stdin, frames to stdout. Returns 0 if the launcher has been told everything.
int help();

}  // namespace longship::launch
