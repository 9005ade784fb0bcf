// SPDX-License-Identifier: Apache-2.0
#include "costs.h"

#include <algorithm>
#include <bit>

namespace longship::collective {
namespace {

double rounds(int ranks) {  // log2, rounded up
  return std::bit_width(static_cast<unsigned>(ranks) - 1);
}

struct Field {
  double ranks;
  Link link;
  double sharing;  // ranks that send across one link at a time
  double reduce;
};

double tree(double bytes, int ranks, const Field& on) {
  return rounds(ranks) * (2 * (on.link.latency + bytes * on.link.per_byte) + bytes * on.reduce);
}

double halving_doubling(double bytes, int ranks, const Field& on) {
  const bool folds = !std::has_single_bit(static_cast<unsigned>(ranks));
  const double share = (on.ranks - 1) / on.ranks;
  const double moved = bytes * share * (2 * on.link.per_byte * on.sharing + on.reduce);
  const double whole = on.link.latency + bytes * (on.link.per_byte * on.sharing + on.reduce);
  const double folding = 2 * (on.link.latency + bytes * on.link.per_byte * on.sharing) + bytes * on.reduce;
  const double steps = rounds(ranks) - (folds ? 1 : 0);
  const bool small = bytes <= static_cast<double>(exchanged_whole_up_to);
  return (small ? steps * whole : 2 * steps * on.link.latency + moved) + (folds ? folding : 0);
}

// Neighbours are on the same node where they can be, so one rank at a time uses the node's link. It goes in
// pieces: one is reduced while the next is on the wire.
double ring(double bytes, const Field& on) {
  const double share = (on.ranks - 1) / on.ranks;
  return 2 * (on.ranks - 1) * on.link.latency +
         bytes * share * (on.link.per_byte + std::max(on.link.per_byte, on.reduce));
}

Field among_nodes(const Layout& layout, const Costs& costs) {
  return {static_cast<double>(layout.nodes), costs.network, 1, costs.reduce_per_byte};
}

Field among_all(const Layout& layout, const Costs& costs) {
  if (layout.nodes == 1) return {static_cast<double>(layout.ranks), costs.node, 1, costs.reduce_per_byte};
  return {static_cast<double>(layout.ranks), costs.network, static_cast<double>(layout.per_node()),
          costs.reduce_per_byte};
}

double direct(double bytes, int ranks, const Costs& costs) {
  return 2 * costs.node.latency + 2 * bytes * costs.node.per_byte +
         (ranks - 1) * bytes / ranks * costs.reduce_per_byte;
}

double hierarchical(double bytes, const Layout& layout, const Costs& costs) {
  const Field nodes = among_nodes(layout, costs);
  const double between = std::min(halving_doubling(bytes, layout.nodes, nodes), ring(bytes, nodes));
  const double down = rounds(layout.per_node()) * (costs.node.latency + bytes * costs.node.per_byte);
  return direct(bytes, layout.per_node(), costs) + between + down;
}

}  // namespace

std::string_view name_of(Way way) {
  constexpr std::string_view names[way_count] = {"direct", "tree", "halving-doubling", "ring",
                                                 "hierarchical"};
  return names[static_cast<std::size_t>(way)];
}

std::vector<Way> ways(const Layout& layout) {
  if (layout.shares_memory) return {Way::direct};
  if (layout.nodes > 1 && layout.ranks > layout.nodes)
    return {Way::tree, Way::halving_doubling, Way::ring, Way::hierarchical};
  return {Way::tree, Way::halving_doubling, Way::ring};
}

double expected(Way way, double bytes, const Layout& layout, const Costs& costs) {
  if (layout.ranks == 1) return 0;
  const Field field = among_all(layout, costs);
  switch (way) {
    case Way::direct:
      return direct(bytes, layout.ranks, costs);
    case Way::tree:
      return tree(bytes, layout.ranks, field);
    case Way::halving_doubling:
      return halving_doubling(bytes, layout.ranks, field);
    case Way::ring:
      return ring(bytes, field);
    case Way::hierarchical:
      break;
  }
  return hierarchical(bytes, layout, costs);
}

}  // namespace longship::collective
