// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>

#include "layout.h"
#include "schedules.h"

namespace longship::collective {
namespace {

constexpr std::size_t sent_at_once = 256 * 1024;

}  // namespace

Schedule tree_broadcast(Transport& transport, Tag tag, std::span<std::byte> bytes, int root) {
  const TreePlace place = tree_place(transport.rank(), transport.size(), root);
  std::deque<Completion> sends;
  for (std::size_t at = 0; at < bytes.size(); at += sent_at_once) {
    const auto piece = bytes.subspan(at, std::min(sent_at_once, bytes.size() - at));
    if (place.parent >= 0) {
      Completion received;
      transport.receive(place.parent, tag, piece, received);
      while (!received.done) co_await pause;
    }
    for (const int child : place.children) transport.send(child, tag, piece, sends.emplace_back());
  }
  for (const auto& sent : sends)
    while (!sent.done) co_await pause;
}

}  // namespace longship::collective
