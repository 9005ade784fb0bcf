// SPDX-License-Identifier: Apache-2.0
// Waiting for the hub to say that something has happened, instead of asking again and again.
//
// The hub's stream of events says that a job changed; what it became is then asked for. Until the stream is
// there, and where it cannot be had (it broke, or a proxy keeps it back), the clock decides: soon at first,
// then every second.
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string_view>

#include "hub_client.h"
#include "launch/signals.h"

namespace longship::cli {

struct Watched {
  // Is this job's change of interest?
  std::function<bool(std::string_view job)> concerns;
  // Called at first, after each change, and when a signal came (which it has to take). Nothing: it is done.
  // Else for how long at most it need not be called again if nothing happens.
  std::function<std::optional<std::chrono::milliseconds>()> look;
};

// Returns when look() is done; what look() throws comes through.
void watch(const HubClient& hub, launch::Interruptions& interruptions, const Watched& watched);

}  // namespace longship::cli
