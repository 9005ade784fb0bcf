// SPDX-License-Identifier: Apache-2.0
#include "places.h"

#include <algorithm>

#include "allocation.h"
#include "base/text.h"

namespace longship::launch {

Places::Places(const job::Needs& needs, const Environment& environment) {
  if (needs.nodes > 1) return;
  const auto allocation = current_allocation(environment);
  if (allocation && !allocation->here) {
    const auto list = environment.find("SLURM_JOB_NODELIST");
    if (list == environment.end()) return;
    longship::Command names_of;
    names_of.arguments = {"scontrol", "show", "hostnames", list->second};
    const auto names = output_of(names_of);
    for (const auto name : split(trim(names), '\n')) nodes_.emplace(name, 0);
    return;
  }
  const auto cores = allowed_cores();
  const int each = needs.threads_per_rank * needs.ranks_per_node;
  if (each == 0 || static_cast<std::size_t>(each) >= cores.size()) return;
  shares_ = divide(cores, static_cast<int>(cores.size()) / each, each);
  takers_.assign(shares_.size(), 0);
}

Place Places::take() {
  if (!nodes_.empty()) {
    const auto emptiest =
        std::min_element(nodes_.begin(), nodes_.end(), [](auto& a, auto& b) { return a.second < b.second; });
    ++emptiest->second;
    return {emptiest->first, {}};
  }
  if (shares_.empty()) return {};
  const auto emptiest = std::min_element(takers_.begin(), takers_.end());
  ++*emptiest;
  return {"", shares_[static_cast<std::size_t>(emptiest - takers_.begin())]};
}

void Places::give_back(const Place& place) {
  if (!place.node.empty()) --nodes_.at(place.node);
  for (std::size_t i = 0; i < shares_.size(); ++i)
    if (shares_[i] == place.cores) --takers_[i];
}

namespace {

// srun hands on what ends it, but not that it was killed: then its tasks live on, with a stdin that has
// ended.
constexpr const char* until_stdin_ends = R"(exec 3<&0
"$@" </dev/null 3<&- &
run=$!
(while read -r nothing; do :; done <&3; kill "$run") 2>/dev/null &
watcher=$!
trap 'kill "$run" 2>/dev/null' TERM INT
wait "$run"; code=$?
while kill -0 "$run" 2>/dev/null; do wait "$run"; code=$?; done
kill "$watcher" 2>/dev/null
exit "$code")";

}  // namespace

std::vector<std::string> at_place(const Place& place, std::vector<std::string> words) {
  if (place.node.empty()) return words;
  auto command = start_on_nodes(
      1, {"env", "SLURM_JOB_NUM_NODES=1", "SLURM_NNODES=1", "sh", "-c", until_stdin_ends, "sh"});
  command.insert(command.begin() + 1, {"--nodelist=" + place.node, "--quiet"});
  command.insert(command.end(), words.begin(), words.end());
  return command;
}

}  // namespace longship::launch
