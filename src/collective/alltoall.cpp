// SPDX-License-Identifier: Apache-2.0
// In n - 1 steps each rank sends to the one `step` places to its right and receives from the one as far to
// its left, so that every link carries one part at a time. How much comes is said first, by all to all.
#include <algorithm>
#include <deque>
#include <numeric>

#include "layout.h"
#include "schedules.h"

namespace longship::collective {
namespace {

std::vector<std::size_t> offsets_of(const std::vector<std::uint64_t>& sizes) {
  std::vector<std::size_t> offsets(sizes.size() + 1);
  std::partial_sum(sizes.begin(), sizes.end(), offsets.begin() + 1);
  return offsets;
}

}  // namespace

Schedule pairwise_alltoall(Transport& transport, Tag tag, std::span<const std::byte> input,
                           std::vector<std::uint64_t> sizes, std::vector<std::byte>& output,
                           std::vector<std::uint64_t>& arrived) {
  const int size = transport.size();
  const int rank = transport.rank();
  const auto own = static_cast<std::size_t>(rank);
  arrived.assign(static_cast<std::size_t>(size), 0);
  arrived[own] = sizes[own];
  std::deque<Completion> sent, received;
  for (int step = 1; step < size; ++step) {
    const int to = wrapped(rank + step, size), from = wrapped(rank - step, size);
    transport.send(to, tag, std::as_bytes(std::span(&sizes[static_cast<std::size_t>(to)], 1)),
                   sent.emplace_back());
    transport.receive(from, tag,
                      std::as_writable_bytes(std::span(&arrived[static_cast<std::size_t>(from)], 1)),
                      received.emplace_back());
  }
  for (const auto& one : sent)
    while (!one.done) co_await pause;
  for (const auto& one : received)
    while (!one.done) co_await pause;

  const auto out_of = offsets_of(sizes), into = offsets_of(arrived);
  output.resize(into.back());
  const auto leaving = [&](int to) {
    const auto i = static_cast<std::size_t>(to);
    return input.subspan(out_of[i], sizes[i]);
  };
  const auto coming = [&](int from) {
    const auto i = static_cast<std::size_t>(from);
    return std::span(output).subspan(into[i], arrived[i]);
  };
  std::copy(leaving(rank).begin(), leaving(rank).end(), coming(rank).begin());
  for (int step = 1; step < size; ++step) {
    const int to = wrapped(rank + step, size), from = wrapped(rank - step, size);
    Completion gone, here;
    if (!leaving(to).empty()) transport.send(to, tag, leaving(to), gone);
    if (!coming(from).empty()) transport.receive(from, tag, coming(from), here);
    while ((!gone.done && !leaving(to).empty()) || (!here.done && !coming(from).empty())) co_await pause;
  }
}

}  // namespace longship::collective
