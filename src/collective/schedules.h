// SPDX-License-Identifier: Apache-2.0
// The schedules: each sends, receives and reduces, and nothing else; one file each. All ranks call the same
// one with the same tag and equal lengths. A tag belongs to one operation: schedules of the same tag must not
// overlap. There is no schedule for a barrier: ranks agree on every operation before it starts
// (coordinator.h), and to have agreed is to have met.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "element.h"
#include "layout.h"
#include "pieces.h"
#include "schedule.h"
#include "segment.h"
#include "transport.h"

namespace longship::collective {

// Of a rank that may hold back: then the others reduce its part too.
struct Restraint {
  const bool* holds_back;          // now; may change at any time
  bool is_left_to_others = false;  // so far, or for good
};

// Without messages, in the memory that the ranks of a node share (direct.h); the fastest within a node. It
// sees by the way whether the result holds a NaN.
[[nodiscard]] Schedule direct_allreduce(Lane lane, Pieces pieces, Op op, bool* found_nan = nullptr,
                                        Restraint* restraint = nullptr);

// Around a ring in 2 (n - 1) steps: least bytes per rank, many steps; for large tensors between nodes.
[[nodiscard]] Schedule ring_allreduce(Transport& transport, Tag tag, Values values, Op op);

// Rabenseifner's: the same bytes in 2 log2 n steps; for small and middle tensors. Ranks beyond a power of two
// hand their values to a neighbour first.
[[nodiscard]] Schedule halving_doubling_allreduce(Transport& transport, Tag tag, Values values, Op op);

// Up and down a binomial tree: fewest messages per rank; for tiny tensors.
[[nodiscard]] Schedule tree_allreduce(Transport& transport, Tag tag, Values values, Op op);

// Within the nodes, between their lowest ranks, within the nodes: for networks slower than memory. `nodes`
// has each rank's node; the lane is that of the ranks of this node, if they have one.
[[nodiscard]] Schedule hierarchical_allreduce(Transport& transport, std::optional<Lane> lane,
                                              std::vector<int> nodes, Tag tag, Values values, Op op);

// Adasum, which weighs whole tensors: each has to come alone. Floating types only.
[[nodiscard]] Schedule adasum_allreduce(Transport& transport, Tag tag, Values values);

// `values` are reduced in place, of which only the own part is right afterwards; parts[r] is rank r's.
[[nodiscard]] Schedule ring_reducescatter(Transport& transport, Tag tag, Values values,
                                          std::vector<Range> parts, Op op);

// Down a binomial tree from `root`, in pieces that follow each other.
[[nodiscard]] Schedule tree_broadcast(Transport& transport, Tag tag, std::span<std::byte> bytes, int root);

// Every rank's bytes to every rank, around a ring. `output` holds the parts one after the other, `sizes`
// their lengths.
[[nodiscard]] Schedule ring_allgather(Transport& transport, Tag tag, std::span<const std::byte> input,
                                      std::span<std::byte> output, std::vector<std::size_t> sizes);

// `input` holds the parts for each rank one after the other, `sizes` their lengths. Afterwards so does
// `output` those of each rank for this one, and `arrived` their lengths.
[[nodiscard]] Schedule pairwise_alltoall(Transport& transport, Tag tag, std::span<const std::byte> input,
                                         std::vector<std::uint64_t> sizes, std::vector<std::byte>& output,
                                         std::vector<std::uint64_t>& arrived);

}  // namespace longship::collective
