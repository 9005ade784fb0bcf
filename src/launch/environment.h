// SPDX-License-Identifier: Apache-2.0
// What a rank finds in its environment: torchrun's names, so that its scripts work unchanged, and our own.
#pragma once
#include <string>

#include "base/process.h"
#include "plan.h"
#include "rendezvous.h"

namespace longship::launch {

struct RankPlace {
  int node = 0;
  int local_rank = 0;
  std::string node_name;
  int threads = 1;
  int rendezvous_fd = -1;    // rank 0 only
  std::string control = {};  // the path of the control page, as the rank sees it; empty: none
  Environment gpus = {};     // by which it finds those that are its own
};

// `host` is the environment of the node's helper. Without a box it is inherited; with one, the box's rule
// applies.
[[nodiscard]] Environment rank_environment(const Plan& plan, const RankPlace& place,
                                           const Rendezvous& rendezvous, const Environment& host);

// Our Python package is found first, then what the user's PYTHONPATH names.
[[nodiscard]] std::string with_python_path(const std::string& ours, const Environment& environment);

}  // namespace longship::launch
