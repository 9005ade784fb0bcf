// SPDX-License-Identifier: Apache-2.0
// A Stream over a connected, non-blocking socket. A small message, with the frame before it, is read by one
// system call.
#pragma once
#include <array>

#include "base/fd.h"
#include "stream.h"

namespace longship::collective {

class SocketStream final : public Stream {
 public:
  explicit SocketStream(Fd socket) : socket_(std::move(socket)) {}
  std::size_t write(std::span<const std::byte> first, std::span<const std::byte> second) override;
  std::size_t read(std::span<std::byte> buffer) override;
  [[nodiscard]] int fd() const { return socket_.get(); }

 private:
  [[nodiscard]] std::size_t receive(std::span<std::byte> buffer);

  Fd socket_;
  std::array<std::byte, 4096> memory_;
  std::span<const std::byte> ahead_;  // read into the memory and not asked for yet
  bool drained_ = false;
};

}  // namespace longship::collective
