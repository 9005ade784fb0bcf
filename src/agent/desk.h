// SPDX-License-Identifier: Apache-2.0
// The engine and its papers: made from what is on disk, and thrown away when something cannot be written.
#pragma once
#include <functional>
#include <string>

#include "base/record_log.h"
#include "batch/batch.h"
#include "engine.h"
#include "message/spool.h"
#include "outbox.h"
#include "pilot_logs.h"
#include "site/site.h"

namespace longship::agent {

// How often the pilots' logs are looked at, and the batch system is asked.
struct Pace {
  std::chrono::milliseconds logs{1000}, batch{10'000};
};
[[nodiscard]] Pace pace_of(const site::Site& site);
[[nodiscard]] Rules rules_of(const site::Site& site);
[[nodiscard]] std::string random_hex(std::size_t digits);

// What a pilot is told about itself, and what the batch system is told about it.
[[nodiscard]] message::PilotOrder order_of(const site::Site& site, const Made& made);
[[nodiscard]] batch::Pilot request_of(const site::Site& site, const Made& made,
                                      const std::filesystem::path& program,
                                      const std::filesystem::path& directory);

class Desk {
 public:
  Desk(const site::Site& site, const message::Spool& spool, std::function<bool(const WantedBlob&)> has);

  // The part of the actions that must be durable before the rest: journal, orders, what pilots are told,
  // facts. After an Error this desk is of no use any more.
  void write(const Actions& actions);

  Outbox outbox;
  PilotLogs logs;
  Engine engine;

 private:
  void replay();
  site::Site site_;
  message::Spool spool_;
  RecordLogWriter journal_;
};

}  // namespace longship::agent
