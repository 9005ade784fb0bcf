// SPDX-License-Identifier: Apache-2.0
// Patarasuk and Yuan (2009): the tensor is cut into n parts. Each part travels once around the ring and is
// summed on its way; the rank where it is complete sends it around once more.
//
// Parts are cut into pieces, and a piece goes on as soon as it is reduced, while the next one is on the wire.
// A part may be overwritten by its finished values although it was sent from the same place: those values
// contain the ones sent.
#include <algorithm>
#include <deque>

#include "layout.h"
#include "reduce.h"
#include "schedules.h"

namespace longship::collective {
namespace {

constexpr std::size_t piece_bytes = 128 * 1024;

// The pieces of the part with this index, counted around the ring.
std::vector<Values> pieces_of(const Values& values, int size, int index) {
  const auto parts = static_cast<std::size_t>(size);
  const Range part = part_of(values.count, parts, static_cast<std::size_t>((index % size + size) % size));
  const std::size_t width = size_of(values.type);
  const std::size_t most = piece_bytes / width;
  std::vector<Values> pieces;
  for (std::size_t at = part.begin; at < part.end; at += most)
    pieces.push_back({values.type, values.data + at * width, std::min(most, part.end - at)});
  return pieces;
}

}  // namespace

Schedule ring_allreduce(Transport& transport, Tag tag, Values values, Op op) {
  const int size = transport.size();
  if (size == 1) co_return;
  const int rank = transport.rank();
  const int left = wrapped(rank - 1, size);
  const int right = wrapped(rank + 1, size);
  std::deque<Completion> sends;
  const auto send = [&](const Values& piece) {
    transport.send(right, tag, bytes_of(piece), sends.emplace_back());
  };

  for (const auto& piece : pieces_of(values, size, rank)) send(piece);

  std::vector<std::byte> incoming(piece_bytes);
  for (int step = 1; step < size; ++step) {
    for (const auto& piece : pieces_of(values, size, rank - step)) {
      Completion received;
      transport.receive(left, tag, incoming, received);
      while (!received.done) co_await pause;
      combine(piece.type, op, piece.data, incoming.data(), piece.data, piece.count);
      if (op == Op::average && step == size - 1) divide(piece.type, piece.data, piece.count, size);
      send(piece);
    }
  }
  for (int step = 0; step < size - 1; ++step) {
    for (const auto& piece : pieces_of(values, size, rank - step)) {
      Completion received;
      transport.receive(left, tag, bytes_of(piece), received);
      while (!received.done) co_await pause;
      if (step < size - 2) send(piece);
    }
  }
  for (const auto& sent : sends)
    while (!sent.done) co_await pause;
}

}  // namespace longship::collective
