// SPDX-License-Identifier: Apache-2.0
// Bytes to and from one other rank, in order: a ring in shared memory or a socket.
#pragma once
#include <cstddef>
#include <span>

namespace longship::collective {

class Stream {
 public:
  virtual ~Stream() = default;
  // As much of the two parts, one after the other, as goes without blocking. Throws Error if the peer is
  // gone.
  [[nodiscard]] virtual std::size_t write(std::span<const std::byte> first,
                                          std::span<const std::byte> second) = 0;
  // As much as is there, at most the buffer. Throws Error if the peer is gone.
  [[nodiscard]] virtual std::size_t read(std::span<std::byte> buffer) = 0;
};

}  // namespace longship::collective
