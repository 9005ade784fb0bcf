// SPDX-License-Identifier: Apache-2.0
// A plan carried out through helpers: the launcher's side, and the helper's, of which srun starts one per
// node, or an MPI launcher one per rank (mpi.h). frames.h tells what they say to each other.
#pragma once
#include <string>
#include <vector>

#include "node.h"
#include "plan.h"

namespace longship::launch {

// `helper` is the command that runs help() on a node; `screen` is `surroundings.sink`.
[[nodiscard]] Result run_across(const Plan& plan, const std::vector<std::string>& helper, Screen& screen,
                                Surroundings& surroundings);

// The same with another program that starts the helpers.
struct Starter {
  std::vector<std::string> command;
  // A listening socket, to which each helper comes, and its name (reception.h). Without one all of them speak
  // through the program's own input and output.
  int meeting = -1;
  std::string meeting_name = {};
  std::string name = {};  // for messages; empty: the command's
};
[[nodiscard]] Result run_helpers(const Plan& plan, const Starter& starter, Screen& screen,
                                 Surroundings& surroundings);

// The helper's side: plan from stdin, frames to stdout; or both through the socket that LONGSHIP_LAUNCHER
// names. Returns 0 if the launcher has been told everything.
// `entered`: it is inside the plan's box already (engine_start.h).
int help(bool entered = false);

}  // namespace longship::launch
