// SPDX-License-Identifier: Apache-2.0
// The edge of a site: hub ↔ spool ↔ batch system, for one Unix account. The loop around engine.h; it decides
// nothing itself.
//
//   hub ── frames ──▶ ┌────────┐ ── journal, outbox, to_pilot: written first
//   pilots' logs ───▶ │ engine │ ── facts from the outbox ──▶ hub
//   batch system ───▶ └────────┘ ── pilots made, handed in, taken back
//
// Pilots go on when the agent ends, however it ends. What cannot be written (a full disk) is not acted on:
// the engine is made anew from what is on disk, after a pause, until it can.
//
// Failpoints: agent.journalled, agent.ordered (a pilot's directory is there), agent.told, agent.reported,
// agent.submitted (the answer is not noted yet), agent.chunk (bytes of a blob were written),
// agent.brought (all of it is there and right, under another name).
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "net/frame_stream.h"
#include "site/site.h"

namespace longship::agent {

struct Options {
  site::Site site;
  std::filesystem::path program;  // what a pilot is started with: PROGRAM pilot DIR
  std::string version;            // of this program, for the hub
  // Opens a connection to the hub; an Error: later again. Called from a thread of its own, one call at a
  // time.
  std::function<std::unique_ptr<net::FrameStream>()> connect;
  bool ends_with_link = false;  // on stdio there is no second connection
};

class Agent {
 public:
  // Takes the spool's lock, reads what an earlier agent left. An Error if another agent has the spool.
  explicit Agent(Options options);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Until asked to stop, or the link ended and there is no other; an Error if the hub sent us away on it.
  void run(std::stop_token stop);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace longship::agent
