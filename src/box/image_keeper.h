// SPDX-License-Identifier: Apache-2.0
// The process that keeps an image mounted for the boxes of a node; shared_image.h tells why.
#pragma once
#include <chrono>
#include <cstdint>

#include "box.h"
#include "meeting.h"

namespace longship::box {

// Which mount it is. A file that is replaced, or written to, is another one.
struct Identity {
  std::uint64_t device, file, size, modified, changed;
  std::uint64_t group;  // FUSE answers to one group alone
  std::uint64_t ways;   // that may be taken
  std::uint64_t fate;   // who is killed together with the keeper
  std::uint64_t users;  // who may come besides this user
  bool operator==(const Identity&) const = default;
};

// What a box is told, beside the descriptor of its mount. Names are short: the whole identity is compared.
struct Answer {
  Identity identity{};
  Way way = Way::fuse;
  int keeper = 0;
  char problem[240] = {};  // if there is no descriptor
};

// In the keeper's process; returns when it may end.
void keep_image(Meeting& meeting, int image, const Identity& identity, std::chrono::milliseconds linger);

}  // namespace longship::box
