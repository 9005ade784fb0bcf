// SPDX-License-Identifier: Apache-2.0
// Ranks in an engine's container: the node's helper itself is started inside, by a process that knows the
// node.
//
//   launcher ── [srun or mpiexec] ── longship launch --through-engine … ══ apptainer exec … ── helper ──
//   ranks
//
// The process before the engine looks up what only the node can tell (the engine, the image as it takes it,
// the directories and descriptors of an MPI launcher) and becomes the engine. The helper is our static
// program, let in from the host, so that it runs in any image. It gets the plan through its input or a
// socket, and gives the ranks the environment of a box by the usual rule: no variable of theirs is on a
// command line or in a file. All ranks of a node share one container; an MPI's ranks, which are tasks of its
// launcher, have one each.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "node.h"
#include "plan.h"

namespace longship::launch {

[[nodiscard]] inline bool uses_engine(const Plan& plan) {
  return plan.box && plan.box->engine != Engine::own;
}

// Error (Failure::impossible) if the engine's program is not on this machine.
void check_engine(Engine engine);

// The launcher's side: the command that starts `inner` in the engine, with what helpers need; without `inner`
// the helper, which `helper` starts outside.
[[nodiscard]] std::vector<std::string> through_engine(const Plan& plan,
                                                      const std::vector<std::string>& helper,
                                                      std::vector<std::string> inner = {});
[[nodiscard]] std::vector<std::string> helper_inside(const std::vector<std::string>& helper);

// The ranks of a plan with one node, on this one.
[[nodiscard]] Result run_in_engine(const Plan& plan, const std::vector<std::string>& helper, Screen& screen,
                                   Surroundings& surroundings);

// One program, as `longship box` starts it: becomes the engine, in which execute_entered() becomes the
// program. `longship` is our own static program; `chosen` are the variables that were asked for.
[[noreturn]] void start_program_in_engine(const Boxed& box, const Environment& chosen, bool gpus,
                                          const std::filesystem::path& longship,
                                          const std::vector<std::string>& command);
[[noreturn]] void execute_entered(const std::string& what, const std::vector<std::string>& command);

// What chose the engine outside means nothing inside.
void forget_engine();

// The node's side: becomes the engine. `what` as through_engine() wrote it.
[[noreturn]] void start_through_engine(const std::string& what, const std::vector<std::string>& inner);

}  // namespace longship::launch
