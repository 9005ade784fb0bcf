// SPDX-License-Identifier: Apache-2.0
// Descriptors handed from process to process over a socket, with a few bytes that tell what they are.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "base/fd.h"

namespace longship::box {

// False, with errno, if the other side is gone.
bool hand_over(int socket, std::span<const std::byte> bytes, std::span<const int> descriptors);

// Waits, as long as the socket's own limit allows. Not complete if the other side closed instead, or sent
// something of another size.
struct Received {
  bool complete = false;
  bool timed_out = false;
  std::vector<Fd> descriptors;
};
[[nodiscard]] Received receive(int socket, std::span<std::byte> bytes);

}  // namespace longship::box
