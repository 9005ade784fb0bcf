// SPDX-License-Identifier: Apache-2.0
// Up a binomial tree to rank 0, reduced at every branch, and down again: a rank sends and receives least
// often, which counts when each message costs more than its bytes.
#include "layout.h"
#include "reduce.h"
#include "schedules.h"

namespace longship::collective {

Schedule tree_allreduce(Transport& transport, Tag tag, Values values, Op op) {
  const TreePlace place = tree_place(transport.rank(), transport.size(), 0);
  const std::span<std::byte> bytes(values.data, values.count * size_of(values.type));
  std::vector<std::byte> incoming(place.children.empty() ? 0 : bytes.size());
  // The smallest subtree is complete first.
  for (auto child = place.children.rbegin(); child != place.children.rend(); ++child) {
    Completion received;
    transport.receive(*child, tag, incoming, received);
    while (!received.done) co_await pause;
    combine(values.type, op, values.data, values.data, incoming.data(), values.count);
  }
  if (place.parent >= 0) {
    Completion sent;
    transport.send(place.parent, tag, bytes, sent);
    while (!sent.done) co_await pause;
  } else if (op == Op::average) {
    divide(values.type, values.data, values.count, transport.size());
  }
  Schedule down = tree_broadcast(transport, tag, bytes, 0);
  while (!down.step()) co_await pause;
}

}  // namespace longship::collective
