// SPDX-License-Identifier: Apache-2.0
// A Stream over several sockets: one connection does not fill a fast network, nor several paths of it.
//
// The bytes are cut into stripes, which go over the sockets in turn; both ends count, so nothing has to be
// said about them. What is small stays on one socket, as a rule. At any time one socket is the next to read
// from and one the next to write to: only those need to be watched.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "socket_stream.h"

namespace longship::collective {

class StripedStream final : public Stream {
 public:
  static constexpr std::size_t stripe = 64 * 1024;

  explicit StripedStream(std::vector<Fd> sockets);
  std::size_t write(std::span<const std::byte> first, std::span<const std::byte> second) override;
  std::size_t read(std::span<std::byte> buffer) override;

  [[nodiscard]] std::size_t next_to_write() const { return index_of(written_); }
  [[nodiscard]] std::size_t next_to_read() const { return index_of(read_); }

 private:
  [[nodiscard]] std::size_t index_of(std::uint64_t place) const { return place / stripe % sockets_.size(); }
  [[nodiscard]] std::size_t room_at(std::uint64_t place) const;

  std::deque<SocketStream> sockets_;
  std::uint64_t written_ = 0, read_ = 0;
};

}  // namespace longship::collective
