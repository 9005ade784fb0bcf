// SPDX-License-Identifier: Apache-2.0
// What each way to all-reduce is expected to cost: a model of messages and bytes, pure computation.
//
// A message costs a latency and so much per byte; a reduced byte costs too. Ranks of one node share its
// network link: what several of them send across it comes one after the other.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace longship::collective {

// The numbers go over the wire.
enum class Way : std::uint8_t { direct = 0, tree = 1, halving_doubling = 2, ring = 3, hierarchical = 4 };
inline constexpr int way_count = 5;
[[nodiscard]] std::string_view name_of(Way way);

// How ranks are spread, as far as costs know.
struct Layout {
  int ranks = 1, nodes = 1;
  bool shares_memory = false;  // all of them, in one segment
  [[nodiscard]] int per_node() const { return (ranks + nodes - 1) / nodes; }
  bool operator==(const Layout&) const = default;
};

struct Link {
  double latency = 0;   // seconds per message
  double per_byte = 0;  // seconds
};

// Typical of this decade's machines; what is measured on site replaces what they lead to (tuner.h).
struct Costs {
  Link node{1e-6, 1 / 3e9};
  Link network{25e-6, 1 / 1.1e9};
  double reduce_per_byte = 1 / 6e9;
};

// Halving and doubling: up to here another message costs more than to send and reduce all of it.
inline constexpr std::size_t exchanged_whole_up_to = 4 * 1024;

// The ways that can be gone at all.
[[nodiscard]] std::vector<Way> ways(const Layout& layout);

// In seconds.
[[nodiscard]] double expected(Way way, double bytes, const Layout& layout, const Costs& costs);

}  // namespace longship::collective
