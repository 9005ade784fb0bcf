// SPDX-License-Identifier: Apache-2.0
// The pilot's own log. What is said is written as soon as the disk takes it, and nothing is forgotten before:
// an Ended that does not fit on a full disk is tried again as long as the pilot lives.
#pragma once
#include <filesystem>
#include <vector>

#include "base/clock.h"
#include "base/record_log.h"
#include "message/pilot_messages.h"

namespace longship::pilot {

class Voice {
 public:
  static constexpr std::chrono::seconds try_again_after{1};
  static constexpr std::chrono::seconds sync_every{
      1};  // for file systems that show others only what was synced

  explicit Voice(const std::filesystem::path& log) : log_(log) {}

  void say(message::FromPilot message) { unsaid_.push_back(std::move(message)); }
  // True if all is written. What is said together is one record.
  bool flush(Instant now);
  [[nodiscard]] bool all_said() const { return unsaid_.empty(); }
  [[nodiscard]] Instant wake() const;  // when flush() is wanted

 private:
  void write();
  void sync(Instant now);

  RecordLogWriter log_;
  std::vector<message::FromPilot> unsaid_;
  Instant not_before_{}, last_sync_{};
  bool unsynced_ = false, complained_ = false;
};

}  // namespace longship::pilot
