// SPDX-License-Identifier: Apache-2.0
// Rabenseifner (2004): ranks at distance n/2, n/4, … 1 exchange half of what they still hold and reduce the
// other half; then the same way back, exchanging finished halves. For other rank counts than powers of two
// see fold() in layout.h. What is small is exchanged whole, in half as many steps.
#include "layout.h"
#include "reduce.h"
#include "schedules.h"

namespace longship::collective {
namespace {

// Up to here another message costs more than to send and reduce all of it.
constexpr std::size_t exchanged_whole_up_to = 4 * 1024;

}  // namespace

Schedule halving_doubling_allreduce(Transport& transport, Tag tag, Values values, Op op) {
  const int size = transport.size();
  const Folding folding = fold(transport.rank(), size);
  const Range whole = {0, values.count};
  std::vector<std::byte> incoming(bytes_of(values, whole).size());

  if (folding.folded) {
    Completion sent, received;
    transport.send(folding.partner, tag, bytes_of(values, whole), sent);
    while (!sent.done) co_await pause;
    transport.receive(folding.partner, tag, bytes_of(values, whole), received);
    while (!received.done) co_await pause;
    co_return;
  }
  if (folding.has_partner) {
    Completion received;
    transport.receive(folding.partner, tag, incoming, received);
    while (!received.done) co_await pause;
    combine(values.type, op, values.data, incoming.data(), values.data, values.count);
  }

  const bool small = bytes_of(values, whole).size() <= exchanged_whole_up_to;
  for (int bit = 1; small && bit < folding.active; bit *= 2) {
    const int peer = rank_at(folding.position ^ bit, size);
    Completion sent, received;
    transport.send(peer, tag, bytes_of(values, whole), sent);
    transport.receive(peer, tag, incoming, received);
    while (!sent.done || !received.done) co_await pause;
    combine(values.type, op, values.data, incoming.data(), values.data, values.count);
  }

  std::vector<Halves> steps;
  Range held = whole;
  for (int bit = folding.active / 2; !small && bit > 0; bit /= 2) {
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

  for (int bit = 1; !small && bit < folding.active; bit *= 2) {
    const Halves halves = steps.back();
    steps.pop_back();
    const int peer = rank_at(folding.position ^ bit, size);
    Completion sent, received;
    transport.send(peer, tag, bytes_of(values, halves.kept), sent);
    transport.receive(peer, tag, bytes_of(values, halves.given), received);
    while (!sent.done || !received.done) co_await pause;
  }

  if (folding.has_partner) {
    Completion sent;
    transport.send(folding.partner, tag, bytes_of(values, whole), sent);
    while (!sent.done) co_await pause;
  }
}

}  // namespace longship::collective
