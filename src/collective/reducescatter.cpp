// SPDX-License-Identifier: Apache-2.0
// The first half of the ring all-reduce: each part travels once around the ring, is reduced on its way, and
// ends at the rank that it belongs to.
#include <algorithm>

#include "layout.h"
#include "reduce.h"
#include "schedules.h"

namespace longship::collective {

Schedule ring_reducescatter(Transport& transport, Tag tag, Values values, std::vector<Range> parts, Op op) {
  const int size = transport.size();
  const int rank = transport.rank();
  const std::size_t width = size_of(values.type);
  const auto part = [&](int index) {
    const Range range = parts[static_cast<std::size_t>(wrapped(index, size))];
    return std::span(values.data + range.begin * width, range.size() * width);
  };
  std::size_t longest = 0;
  for (const auto& range : parts) longest = std::max(longest, range.size());
  std::vector<std::byte> incoming(longest * width);
  for (int step = 1; step < size; ++step) {
    const auto next = part(wrapped(rank - step, size) - 1);
    Completion sent, received;
    transport.send(wrapped(rank + 1, size), tag, part(rank - step), sent);
    transport.receive(wrapped(rank - 1, size), tag, incoming, received);
    while (!sent.done || !received.done) co_await pause;
    combine(values.type, op, next.data(), incoming.data(), next.data(), next.size() / width);
  }
  const auto own = part(rank);
  if (op == Op::average) divide(values.type, own.data(), own.size() / width, size);
}

}  // namespace longship::collective
