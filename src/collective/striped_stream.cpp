// SPDX-License-Identifier: Apache-2.0
#include "striped_stream.h"

#include <algorithm>

namespace longship::collective {
namespace {

// Then somebody else gets a turn: reading must not wait until all is written.
constexpr std::size_t written_in_a_turn = 256 * 1024;

}  // namespace

StripedStream::StripedStream(std::vector<Fd> sockets) {
  for (auto& socket : sockets) sockets_.emplace_back(std::move(socket));
}

std::size_t StripedStream::write(std::span<const std::byte> first, std::span<const std::byte> second) {
  if (sockets_.size() == 1) return sockets_.front().write(first, second);
  std::size_t total = 0;
  while (total < written_in_a_turn && !(first.empty() && second.empty())) {
    const std::size_t room = room_at(written_);
    const auto head = first.first(std::min(first.size(), room));
    const auto body = second.first(std::min(second.size(), room - head.size()));
    const std::size_t taken = sockets_[next_to_write()].write(head, body);
    const std::size_t of_first = std::min(taken, first.size());
    first = first.subspan(of_first);
    second = second.subspan(taken - of_first);
    written_ += taken;
    total += taken;
    if (taken < head.size() + body.size()) break;
  }
  return total;
}

std::size_t StripedStream::read(std::span<std::byte> buffer) {
  if (sockets_.size() == 1) return sockets_.front().read(buffer);
  const std::size_t got =
      sockets_[next_to_read()].read(buffer.first(std::min(buffer.size(), room_at(read_))));
  read_ += got;
  return got;
}

std::size_t StripedStream::room_at(std::uint64_t place) const {
  return stripe - static_cast<std::size_t>(place % stripe);
}

}  // namespace longship::collective
