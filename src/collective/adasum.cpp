// SPDX-License-Identifier: Apache-2.0
// Maleki et al., "Scaling distributed training with adaptive summation" (2021): two gradients are added as
// far as they point in different directions and averaged as far as they point in the same:
//
//   a ⊕ b = (1 - <a,b> / 2<a,a>) a + (1 - <a,b> / 2<b,b>) b
//
// Ranks at distance 1, 2, 4, … exchange halves of what they hold, so that after each round the ranks of a
// block hold the parts of one vector. The products are of whole vectors, so a block adds up its parts of
// them. Then the way back, exchanging finished halves. For other rank counts than powers of two see folded.h.
#include "folded.h"
#include "layout.h"
#include "numbers.h"
#include "schedules.h"

namespace longship::collective {
namespace {

double share(double product, double norm) {
  return norm > 0 ? 1 - product / (2 * norm) : 1;
}

void combine_parts(const Values& values, Range range, const std::byte* other, const Products& whole) {
  std::byte* const own = bytes_of(values, range).data();
  mix(values.type, own, share(whole.ab, whole.aa), own, share(whole.ab, whole.bb), other, range.size());
}

// Adds up what the ranks of one block know; those at even places of the round hold parts of a, the others of
// b.
Schedule add_up(Transport& transport, Tag tag, int position, int block, Products& sum) {
  for (int bit = 1; bit < block; bit *= 2) {
    Products other;
    Completion sent, received;
    const Products own = sum;
    const int peer = rank_at(position ^ bit, transport.size());
    transport.send(peer, tag, std::as_bytes(std::span(&own, 1)), sent);
    transport.receive(peer, tag, std::as_writable_bytes(std::span(&other, 1)), received);
    while (!sent.done || !received.done) co_await pause;
    sum.ab += other.ab;
    sum.aa += other.aa;
    sum.bb += other.bb;
  }
}

Schedule adasum_among_active(Transport& transport, Tag tag, Values values, Folding folding) {
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
    const bool is_a = (folding.position & bit) == 0;
    Products sum =
        products(values.type, bytes_of(values, halves.kept).data(), incoming.data(), halves.kept.size());
    if (!is_a) std::swap(sum.aa, sum.bb);
    Schedule adding = add_up(transport, tag, folding.position, 2 * bit, sum);
    while (!adding.step()) co_await pause;
    if (!is_a) std::swap(sum.aa, sum.bb);  // back to own and other
    combine_parts(values, halves.kept, incoming.data(), sum);
    steps.push_back(halves);
    held = halves.kept;
  }
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

Schedule adasum_allreduce(Transport& transport, Tag tag, Values values) {
  const auto take_in = [values](const std::byte* other) {
    combine_parts(values, {0, values.count}, other, products(values.type, values.data, other, values.count));
  };
  const auto among = [&transport, tag, values](const Folding& folding) {
    return adasum_among_active(transport, tag, values, folding);
  };
  return folded_allreduce(transport, tag, values, take_in, among);
}

}  // namespace longship::collective
