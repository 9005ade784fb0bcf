// SPDX-License-Identifier: Apache-2.0
// Those who want to hear what changes (the server's event streams): told of jobs after each commit, of sites
// with each tick. add() and remove() from any thread, the rest from the hub's.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "hub.h"
#include "state.h"

namespace longship::hub {

class Listeners {
 public:
  std::uint64_t add(Hub::Listener listener);
  void remove(std::uint64_t id);

  // Jobs to tell of, taken before the state forgets what changed; nothing if nobody listens, too many if
  // there are more than is worth it. With a tick also those of which something small has changed.
  [[nodiscard]] std::vector<JobIndex> changed_in(State& state, bool tick) const;
  void tell(State& state, const std::vector<JobIndex>& changed, bool tick, Moment now) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Hub::Listener> listeners_;
  std::uint64_t last_ = 0;
};

}  // namespace longship::hub
