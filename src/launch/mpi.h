// SPDX-License-Identifier: Apache-2.0
// The ranks of an MPI program. They find each other through the MPI's own launcher (PMI, PMIx, the network's
// credentials), which gives that only to the tasks it starts itself. So each rank is a task, and in front of
// each stands a helper of ours, which puts it into the box that all ranks of the node share, hands on its
// output, and stops it when it is told to:
//
//   in an allocation     srun --mpi=pmix|pmi2 … helper ── keeper in the box ── rank
//   on a plain machine   mpiexec -n N helper ── …        the host's, if it is of the image's family,
//                        box ── mpiexec -n N helper ── … else the image's own, within one box
#pragma once
#include <string>
#include <vector>

#include "node.h"
#include "plan.h"

namespace longship::launch {

// `mpi` is what store::Facts tells of the image, "openmpi 4.1.4"; empty: not known, or no image. `helper` is
// the command that runs help(); `screen` is `surroundings.sink`. Error with Failure::impossible and the
// remedy if nothing here can start such ranks.
[[nodiscard]] Result run_mpi(Plan plan, const std::string& mpi, const std::vector<std::string>& helper,
                             Screen& screen, Surroundings& surroundings);

// What srun speaks here: "pmix", "pmix_v4", "pmi2"; nothing without srun.
[[nodiscard]] std::vector<std::string> pmi_of_this_host();

namespace detail {
// Apart for their tests.
[[nodiscard]] std::vector<std::string> plugins_in(std::string_view list);  // as `srun --mpi=list` says it
[[nodiscard]] std::vector<std::string> srun_for_mpi(const Plan& plan, std::string_view plugin,
                                                    const std::vector<std::string>& helper);
[[nodiscard]] std::string family_in(std::string_view version);  // as `mpiexec --version` says it
[[nodiscard]] std::vector<std::string> mpiexec(const std::string& program, std::string_view family, int ranks,
                                               bool is_root);
}  // namespace detail

}  // namespace longship::launch
