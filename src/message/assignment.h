// SPDX-License-Identifier: Apache-2.0
// An attempt as it is given to a site: all that agent and pilot need to carry it out.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "attempt_id.h"

namespace longship::message {

// Bytes that have to be at the site first, called by their digest.
struct Blob {
  std::string digest;  // "sha256:…"; empty: none
  std::uint64_t size = 0;
  bool operator==(const Blob&) const = default;
};

struct Assignment {
  AttemptId attempt;
  std::string job;      // job::to_json
  std::string owner;    // who submitted it
  std::string team;     // empty: none
  std::string queue;    // of the site
  Blob code;            // the bundle
  std::string image;    // the store's record of the variant chosen, as JSON; empty: no box
  bool resume = false;  // an earlier attempt at this site left checkpoints
  bool operator==(const Assignment&) const = default;
};

}  // namespace longship::message
