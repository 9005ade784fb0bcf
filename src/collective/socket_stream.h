// SPDX-License-Identifier: Apache-2.0
// A Stream over a connected, non-blocking socket.
#pragma once
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
  Fd socket_;
};

}  // namespace longship::collective
