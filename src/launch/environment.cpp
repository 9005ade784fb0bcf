// SPDX-License-Identifier: Apache-2.0
#include "environment.h"

namespace longship::launch {
namespace {

Environment of_place(const Plan& plan, const RankPlace& place, const Rendezvous& rendezvous) {
  const auto number = [](int value) { return std::to_string(value); };
  Environment variables = {
      {"RANK", number(plan.first_rank(place.node) + place.local_rank)},
      {"WORLD_SIZE", number(plan.size())},
      {"LOCAL_RANK", number(place.local_rank)},
      {"LOCAL_WORLD_SIZE", number(plan.ranks[static_cast<std::size_t>(place.node)])},
      {"GROUP_RANK", number(place.node)},
      {"NODE_RANK", number(place.node)},
      {"MASTER_ADDR", rendezvous.host},
      {"MASTER_PORT", number(rendezvous.master_port)},
      {"LONGSHIP_NODE", place.node_name},
      {"LONGSHIP_RENDEZVOUS", rendezvous.host + ":" + number(rendezvous.port)},
      {"LONGSHIP_SECRET", plan.secret},
  };
  if (place.rendezvous_fd >= 0) variables["LONGSHIP_RENDEZVOUS_FD"] = number(place.rendezvous_fd);
  if (!place.control.empty()) variables["LONGSHIP_CONTROL"] = place.control;
  if (!plan.record.empty()) variables["LONGSHIP_RECORD"] = plan.record.string();
  return variables;
}

}  // namespace

Environment rank_environment(const Plan& plan, const RankPlace& place, const Rendezvous& rendezvous,
                             const Environment& host) {
  Environment chosen = plan.environment;
  for (const auto& [name, value] : place.gpus) chosen.emplace(name, value);
  // The user's own number of threads stands, wherever it was said.
  if (host.contains("OMP_NUM_THREADS") && plan.threads_per_rank == 0)
    chosen.emplace("OMP_NUM_THREADS", host.at("OMP_NUM_THREADS"));
  else
    chosen.emplace("OMP_NUM_THREADS", std::to_string(place.threads));

  Environment result = plan.box ? box::boxed_environment(plan.box->environment, host, chosen) : host;
  // An outer launcher's rendezvous is not ours: only what is set below may be there.
  result.erase("LONGSHIP_RENDEZVOUS_FD");
  result.erase("LONGSHIP_RECORD");
  result.erase("LONGSHIP_CONTROL");
  for (const auto& [name, value] : chosen) result[name] = value;
  for (const auto& [name, value] : of_place(plan, place, rendezvous)) result[name] = value;
  return result;
}

std::string with_python_path(const std::string& ours, const Environment& environment) {
  const auto theirs = environment.find("PYTHONPATH");
  return theirs == environment.end() || theirs->second.empty() ? ours : ours + ":" + theirs->second;
}

}  // namespace longship::launch
