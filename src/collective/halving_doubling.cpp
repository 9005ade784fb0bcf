// SPDX-License-Identifier: Apache-2.0
// Rabenseifner (2004): ranks at distance 1, 2, 4, … n/2 exchange half of what they still hold and reduce the
// other half; then the same way back, exchanging finished halves. The largest messages so go to neighbours,
// who share a node or a switch, and the smallest across the machine, whose upper links are fewer: in the
// order of textbooks, farthest first, 1 MiB on 1,024 simulated ranks took 1.7 times as long. For other rank
// counts than powers of two see folded.h. What is small is exchanged whole, in half as many steps.
#include "costs.h"
#include "folded.h"
#include "layout.h"
#include "reduce.h"
#include "schedules.h"

namespace longship::collective {
namespace {

// What is small: all of it with every partner.
Schedule exchange_whole(Transport& transport, Tag tag, Values values, Op op, Folding folding) {
  std::vector<std::byte> incoming(bytes_of(values).size());
  for (int bit = 1; bit < folding.active; bit *= 2) {
    const int peer = rank_at(folding.position ^ bit, transport.size());
    Completion sent, received;
    transport.send(peer, tag, bytes_of(values), sent);
    transport.receive(peer, tag, incoming, received);
    while (!sent.done || !received.done) co_await pause;
    combine(values.type, op, values.data, incoming.data(), values.data, values.count);
  }
  if (op == Op::average) divide(values.type, values.data, values.count, transport.size());
}

Schedule halve_and_double(Transport& transport, Tag tag, Values values, Op op, Folding folding) {
  const int size = transport.size();
  std::vector<std::byte> incoming(bytes_of(values).size());
  std::vector<Halves> steps;
  Range held = {0, values.count};
  for (int bit = 1; bit < folding.active; bit *= 2) {
    const Halves halves = halve(held, folding.position, bit);
    const int peer = rank_at(folding.position ^ bit, size);
    Completion sent, received;
    transport.send(peer, tag, bytes_of(values, halves.given), sent);
    transport.receive(peer, tag, incoming, received);
    while (!sent.done || !received.done) co_await pause;
    std::byte* const kept = bytes_of(values, halves.kept).data();
    combine(values.type, op, kept, incoming.data(), kept, halves.kept.size());
    steps.push_back(halves);
    held = halves.kept;
  }
  if (op == Op::average) divide(values.type, bytes_of(values, held).data(), held.size(), size);

  for (int bit = folding.active / 2; bit > 0; bit /= 2) {
    const Halves halves = steps.back();
    steps.pop_back();
    const int peer = rank_at(folding.position ^ bit, size);
    Completion sent, received;
    transport.send(peer, tag, bytes_of(values, halves.kept), sent);
    transport.receive(peer, tag, bytes_of(values, halves.given), received);
    while (!sent.done || !received.done) co_await pause;
  }
}

}  // namespace

Schedule halving_doubling_allreduce(Transport& transport, Tag tag, Values values, Op op) {
  const bool small = bytes_of(values).size() <= exchanged_whole_up_to;
  const auto take_in = [values, op](const std::byte* other) {
    combine(values.type, op, values.data, other, values.data, values.count);
  };
  const auto among = [&transport, tag, values, op, small](const Folding& folding) {
    return small ? exchange_whole(transport, tag, values, op, folding)
                 : halve_and_double(transport, tag, values, op, folding);
  };
  return folded_allreduce(transport, tag, values, take_in, among);
}

}  // namespace longship::collective
