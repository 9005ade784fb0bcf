// SPDX-License-Identifier: Apache-2.0
// Who started this process, and which of how many it is: what srun, mpirun, mpiexec, jsrun and torchrun say
// in the environment, so that the same script runs under each. Only words are read here; world.h decides
// where to meet.
#pragma once
#include <functional>
#include <optional>
#include <string>

namespace longship::collective {

// A variable of the environment, nothing if it is not set or empty.
using Lookup = std::function<std::optional<std::string>(const char*)>;

enum class Launcher { nobody, variables, torchrun, openmpi, jsrun, mpiexec, srun };

struct Launched {
  Launcher by = Launcher::nobody;
  int rank = 0, size = 1;
  std::optional<int> local_rank, local_size;
  bool one_node = false;  // known to be: all ranks share this machine
  std::string node;       // the launcher's name for it, or empty
  std::string job;  // no other job that the user runs at the time has it; empty: the launcher does not say
};

// The innermost launcher counts: mpirun inside an allocation of Slurm, srun inside a job of PBS. RANK and
// WORLD_SIZE come before all, because longship launch sets them for ranks that srun or mpirun started for it.
// Throws Error naming the variable that makes no sense.
[[nodiscard]] Launched launched_by(const Lookup& variable);

// A whole number in these bounds. Throws Error naming the variable.
[[nodiscard]] int number_of(const std::string& name, const std::string& text, int least, int most);

}  // namespace longship::collective
