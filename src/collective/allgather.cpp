// SPDX-License-Identifier: Apache-2.0
// In n - 1 steps each rank hands on to the right what it got from the left, its own part first.
#include <algorithm>
#include <numeric>

#include "layout.h"
#include "schedules.h"

namespace longship::collective {

Schedule ring_allgather(Transport& transport, Tag tag, std::span<const std::byte> input,
                        std::span<std::byte> output, std::vector<std::size_t> sizes) {
  const int size = transport.size();
  const int rank = transport.rank();
  const auto part = [&](int index) {
    const auto first = sizes.begin();
    const auto offset = std::accumulate(first, first + index, std::size_t{0});
    return output.subspan(offset, sizes[static_cast<std::size_t>(index)]);
  };
  std::copy(input.begin(), input.end(), part(rank).begin());
  for (int step = 0; step < size - 1; ++step) {
    Completion sent, received;
    transport.send(wrapped(rank + 1, size), tag, part(wrapped(rank - step, size)), sent);
    transport.receive(wrapped(rank - 1, size), tag, part(wrapped(rank - step - 1, size)), received);
    while (!sent.done || !received.done) co_await pause;
  }
}

}  // namespace longship::collective
