// SPDX-License-Identifier: Apache-2.0
#include "reach.h"

#include <algorithm>

#include "segment.h"

namespace longship::collective {

Reach::Reach(const Lane& lane, Workspace& space)
    : lane_(lane), space_(space), width_(size_of(space.pieces.front().type)) {
  const std::size_t pieces = space.pieces.size();
  const auto in_arena = [](std::uint64_t place) { return (place & Post::in_arena) != 0; };
  for (int rank = 0; rank < lane_.ranks; ++rank)
    complete_ = complete_ && std::all_of(where(rank), where(rank) + pieces, in_arena);
  if (!complete_) return;
  space_.mapped.resize(static_cast<std::size_t>(lane.ranks) * pieces);
  for (int rank = 0; rank < lane_.ranks; ++rank) map(rank);
}

const std::uint64_t* Reach::where(int rank) const {
  return space_.told != nullptr ? space_.told + rank : lane_.of(rank).post.where;
}

void Reach::map(int rank) {
  const Pieces& pieces = space_.pieces;
  std::byte** mapped = space_.mapped.data() + static_cast<std::size_t>(rank) * pieces.size();
  for (std::size_t piece = 0; piece < pieces.size(); ++piece)
    mapped[piece] = rank == lane_.rank
                        ? pieces[piece].data
                        : lane_.segment.memory()->of_rank(lane_.node_ranks[static_cast<std::size_t>(rank)],
                                                          where(rank)[piece] & ~Post::in_arena,
                                                          pieces[piece].count * width_);
}

}  // namespace longship::collective
