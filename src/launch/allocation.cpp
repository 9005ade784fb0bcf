// SPDX-License-Identifier: Apache-2.0
#include "allocation.h"

#include <charconv>

#include "base/error.h"

namespace longship::launch {
namespace {

std::string variable(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

int count(const std::string& name, const std::string& text) {
  int value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || value < 1)
    throw Error("{} is \"{}\", not a number of nodes", name, text);
  return value;
}

}  // namespace

std::optional<Allocation> current_allocation(const Environment& environment) {
  Allocation allocation;
  allocation.job = variable(environment, "SLURM_JOB_ID");
  if (allocation.job.empty()) return {};
  for (const auto* name : {"SLURM_JOB_NUM_NODES", "SLURM_NNODES"}) {
    const auto text = variable(environment, name);
    if (text.empty()) continue;
    allocation.nodes = count(name, text);
    break;
  }
  // Under salloc we are on a login node, where SLURMD_NODENAME is not set.
  allocation.here = allocation.nodes == 1 && !variable(environment, "SLURMD_NODENAME").empty();
  return allocation;
}

std::vector<std::string> start_on_nodes(int nodes, const std::vector<std::string>& helper) {
  std::vector<std::string> command = {
      "srun",
      "--overlap",  // beside whatever else runs in the allocation
      "--nodes=" + std::to_string(nodes),
      "--ntasks=" + std::to_string(nodes),
      "--ntasks-per-node=1",
      "--kill-on-bad-exit=1",  // a helper that did its work exits with 0, whatever its ranks did
      "--wait=0",
      "--cpu-bind=none",  // the helper binds its ranks itself
      "--mpi=none",
      "--export=ALL",
  };
  command.insert(command.end(), helper.begin(), helper.end());
  return command;
}

}  // namespace longship::launch
