// SPDX-License-Identifier: Apache-2.0
// The nodes a batch system gave us, found in our environment, and the command that starts one helper on each.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/process.h"

namespace longship::launch {

struct Allocation {
  std::string job;  // the batch system's name for it
  int nodes = 1;
  bool here = false;  // this process runs on its only node: no batch system is needed to start ranks
};

// An Error if the environment contradicts itself; nothing if there is no allocation.
[[nodiscard]] std::optional<Allocation> current_allocation(const Environment& environment);

// One task per node; the helper learns from SLURM_NODEID which it is.
[[nodiscard]] std::vector<std::string> start_on_nodes(int nodes, const std::vector<std::string>& helper);

}  // namespace longship::launch
