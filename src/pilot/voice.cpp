// SPDX-License-Identifier: Apache-2.0
#include "voice.h"

#include <algorithm>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/say.h"

namespace longship::pilot {
namespace {

constexpr std::size_t most_per_record = 1000;

template <class Kind>
bool any(const std::vector<message::FromPilot>& messages) {
  return std::any_of(messages.begin(), messages.end(),
                     [](const auto& message) { return std::holds_alternative<Kind>(message); });
}

void pass_failpoints(const std::vector<message::FromPilot>& said) {
  if (any<message::Began>(said)) failpoint("pilot.began");
  if (any<message::Ended>(said)) failpoint("pilot.ended");
  if (any<message::Running>(said)) failpoint("pilot.running");
  if (any<message::Left>(said)) failpoint("pilot.left");
}

}  // namespace

bool Voice::flush(Instant now) {
  if (!unsaid_.empty() && now >= not_before_) {
    try {
      write();
      complained_ = false;
    } catch (const Error& error) {
      if (!std::exchange(complained_, true)) warn("cannot write to the log, and try again: {}", error.what());
      not_before_ = now + try_again_after;
    }
  }
  if (unsynced_ && now - last_sync_ >= sync_every) sync(now);
  return unsaid_.empty();
}

void Voice::write() {
  if (any<message::Ended>(unsaid_)) failpoint("pilot.ending");
  while (!unsaid_.empty()) {
    const auto count = static_cast<std::ptrdiff_t>(std::min(unsaid_.size(), most_per_record));
    const std::vector<message::FromPilot> part(unsaid_.begin(), unsaid_.begin() + count);
    log_.append(message::encode(part));
    unsynced_ = true;
    unsaid_.erase(unsaid_.begin(), unsaid_.begin() + count);
    if (detail::failpoints_set) pass_failpoints(part);
  }
}

void Voice::sync(Instant now) {
  last_sync_ = now;
  try {
    log_.sync();
    unsynced_ = false;
  } catch (const Error& error) {
    if (!std::exchange(complained_, true)) warn("{}", error.what());
  }
}

Instant Voice::wake() const {
  if (!unsaid_.empty()) return not_before_;
  return unsynced_ ? last_sync_ + sync_every : Instant::max();
}

}  // namespace longship::pilot
