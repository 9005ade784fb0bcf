// SPDX-License-Identifier: Apache-2.0
// Each node reduces in its shared memory, the lowest ranks of the nodes reduce among themselves, and each
// tells its node: the network carries each value once per node, however many ranks there are.
#include <algorithm>

#include "layout.h"
#include "reduce.h"
#include "schedules.h"
#include "subset.h"

namespace longship::collective {
namespace {

constexpr std::size_t ring_from = std::size_t{256} << 10;

std::vector<int> ranks_of_node(const std::vector<int>& nodes, int node) {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank)
    if (nodes[rank] == node) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

std::vector<int> lowest_ranks(const std::vector<int>& nodes) {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank)
    if (std::find(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(rank), nodes[rank]) ==
        nodes.begin() + static_cast<std::ptrdiff_t>(rank))
      ranks.push_back(static_cast<int>(rank));
  return ranks;
}

}  // namespace

Schedule hierarchical_allreduce(Transport& transport, std::optional<Lane> lane, std::vector<int> nodes,
                                Tag tag, Values values, Op op) {
  const int own_node = nodes[static_cast<std::size_t>(transport.rank())];
  Subset node(transport, ranks_of_node(nodes, own_node));
  const std::vector<int> leaders = lowest_ranks(nodes);
  const Op inner = op == Op::average ? Op::sum : op;  // the average is of all ranks, not of each node's

  if (node.size() > 1) {  // a site's MPI has no lane of ours, and its own shared memory
    Schedule within = lane ? direct_allreduce(*lane, {values}, inner)
                           : halving_doubling_allreduce(node, tag, values, inner);
    while (!within.step()) co_await pause;
  }
  const std::span<std::byte> bytes(values.data, values.count * size_of(values.type));
  if (node.rank() == 0) {
    Subset others(transport, leaders);
    Schedule between = bytes.size() >= ring_from ? ring_allreduce(others, tag, values, inner)
                                                 : halving_doubling_allreduce(others, tag, values, inner);
    while (!between.step()) co_await pause;
    if (op == Op::average) divide(values.type, values.data, values.count, transport.size());
  }
  Schedule down = tree_broadcast(node, tag, bytes, 0);
  while (!down.step()) co_await pause;
}

}  // namespace longship::collective
