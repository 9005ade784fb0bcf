// SPDX-License-Identifier: Apache-2.0
// One node's side of a launch: its ranks started, watched by a Supervisor, their output handed on, until the
// last is gone.
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "output.h"
#include "plan.h"
#include "rendezvous.h"
#include "signals.h"
#include "supervisor.h"

namespace longship::launch {

struct FailedRank {
  int rank = 0;
  std::string node;
  Ending ending;
  std::string last_lines;                      // of its stderr
  [[nodiscard]] std::string sentence() const;  // "rank 3 on node2 exited with code 7"
};

struct Result {
  int exit_code = 0;
  Cause cause = Cause::finished;
  std::optional<FailedRank> failure;
};

// What a launch needs from around it.
struct Surroundings {
  Interruptions& interruptions;
  Sink& sink;
  std::function<void()> tick;            // a few times a second: progress is drawn, time limits are kept
  std::function<bool()> stop = nullptr;  // asked after each tick: true if the ranks are to be stopped
  // Asked after each tick; the first time it is true, the ranks of all nodes are asked for a checkpoint
  // (docs/training.md), and go on.
  std::function<bool()> checkpoint = nullptr;
  int orders = -1;                // a descriptor with a launcher's words (frames.h); its end means: stop
  std::string orders_begun = {};  // what was read from it before
  std::function<void(const FailedRank&)> failed =
      nullptr;  // at once, while the other ranks are being stopped
};

// `bound` has the listening socket if rank 0 is on this node. `only`: one of the node's ranks, the others are
// somebody else's; -1: all.
[[nodiscard]] Result run_node(const Plan& plan, int node, const std::string& node_name,
                              const Rendezvous& rendezvous, const Bound* bound, Surroundings& surroundings,
                              int only = -1);

}  // namespace longship::launch
