// SPDX-License-Identifier: Apache-2.0
// The pilots' directories in the spool: orders, what they are told, what they say.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/record_log.h"
#include "message/pilot_messages.h"
#include "message/spool.h"

namespace longship::agent {

class PilotLogs {
 public:
  explicit PilotLogs(message::Spool spool) : spool_(std::move(spool)) {}

  void make(const message::PilotOrder& order);  // durable when this returns
  void tell(const std::string& pilot, const std::vector<message::ToPilot>& messages);  // likewise
  void replay(const std::string& pilot, const std::function<void(const message::ToPilot&)>& take) const;
  // What it said since the last call; at first, everything. A damaged log brings no more, with a warning.
  [[nodiscard]] std::vector<message::FromPilot> hear(const std::string& pilot);
  void forget(const std::string& pilot) { logs_.erase(pilot); }
  // The last line of batch.out, safe to show; empty if there is none.
  [[nodiscard]] std::string last_words(const std::string& pilot) const;

 private:
  struct Logs {
    std::unique_ptr<RecordLogWriter> to;
    std::unique_ptr<RecordLogReader> from;
    bool damaged = false;
  };
  message::Spool spool_;
  std::map<std::string, Logs> logs_;
};

}  // namespace longship::agent
