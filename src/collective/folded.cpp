// SPDX-License-Identifier: Apache-2.0
#include "folded.h"

#include <vector>

namespace longship::collective {

Schedule folded_allreduce(Transport& transport, Tag tag, Values values,
                          std::function<void(const std::byte*)> take_in,
                          std::function<Schedule(const Folding&)> among_active) {
  const Folding folding = fold(transport.rank(), transport.size());
  Completion sent, received;
  if (folding.folded) {
    transport.send(folding.partner, tag, bytes_of(values), sent);
    while (!sent.done) co_await pause;
    transport.receive(folding.partner, tag, bytes_of(values), received);
    while (!received.done) co_await pause;
    co_return;
  }
  if (folding.has_partner) {
    std::vector<std::byte> incoming(bytes_of(values).size());
    transport.receive(folding.partner, tag, incoming, received);
    while (!received.done) co_await pause;
    take_in(incoming.data());
  }
  Schedule among = among_active(folding);
  while (!among.step()) co_await pause;
  if (folding.has_partner) {
    transport.send(folding.partner, tag, bytes_of(values), sent);
    while (!sent.done) co_await pause;
  }
}

}  // namespace longship::collective
