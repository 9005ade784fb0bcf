// SPDX-License-Identifier: Apache-2.0
// A local pilot that waits, as a file: all that is needed to start it later, by whoever comes.
#pragma once
#include "batch.h"
#include "supervisor.h"

namespace longship::batch {

struct LocalRequest {
  std::int64_t number = 0;  // its place in the line
  Pilot pilot;
};

// With what the other files of its directory tell.
struct LocalPilot {
  std::filesystem::path place;
  LocalRequest request;
  State state = State::queued;
  std::optional<Claim> claim = {};
  std::optional<End> end = {};
  std::string trouble = {};  // why it could not be started, or not be read
};

[[nodiscard]] std::string to_json(const LocalRequest& request);
[[nodiscard]] LocalRequest request_from_json(std::string_view text, std::string_view origin);

}  // namespace longship::batch
