// SPDX-License-Identifier: Apache-2.0
#include "reach.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "segment.h"

namespace longship::collective {
namespace {

using Attach = decltype(&::process_vm_readv);

// The kernel may move less than it was asked for.
bool attach(Attach call, int process, std::uint64_t address, std::byte* here, std::size_t bytes) {
  for (std::size_t moved = 0; moved < bytes;) {
    const iovec local = {here + moved, bytes - moved};
    const iovec remote = {reinterpret_cast<void*>(address + moved), bytes - moved};
    const auto now = call(process, &local, 1, &remote, 1, 0);
    if (now <= 0) return false;
    moved += static_cast<std::size_t>(now);
  }
  return true;
}

}  // namespace

bool can_attach(const Post& post) {
  std::uint64_t seen = 0;
  return attach(&::process_vm_readv, post.process, post.proof, reinterpret_cast<std::byte*>(&seen),
                sizeof seen) &&
         seen == post.token;
}

Reach::Reach(const Lane& lane, Workspace& space, bool attach)
    : lane_(lane), space_(space), width_(size_of(space.pieces.front().type)) {
  const std::size_t pieces = space.pieces.size();
  space_.mapped.assign(static_cast<std::size_t>(lane.ranks) * pieces, nullptr);
  bool all_in_arenas = true;
  for (int rank = 0; rank < lane_.ranks; ++rank)
    all_in_arenas = all_in_arenas && std::all_of(where(rank), where(rank) + pieces, [](std::uint64_t place) {
                      return (place & Post::in_arena) != 0;
                    });
  complete_ = all_in_arenas || (attach && everybody_attaches());
  for (int rank = 0; complete_ && rank < lane_.ranks; ++rank) map(rank);
}

const std::uint64_t* Reach::where(int rank) const {
  return space_.told != nullptr ? space_.told + rank : lane_.of(rank).post.where;
}

bool Reach::everybody_attaches() const {
  return std::all_of(lane_.all.begin(), lane_.all.end(),
                     [](const LaneRank& one) { return one.post.attaches != 0; });
}

void Reach::map(int rank) {
  const Pieces& pieces = space_.pieces;
  for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
    const std::uint64_t place = where(rank)[piece];
    auto& mapped = space_.mapped[static_cast<std::size_t>(rank) * pieces.size() + piece];
    if (rank == lane_.rank)
      mapped = pieces[piece].data;
    else if ((place & Post::in_arena) != 0)
      mapped = lane_.segment.memory()->of_rank(lane_.node_ranks[static_cast<std::size_t>(rank)],
                                               place & ~Post::in_arena, pieces[piece].count * width_);
    else
      all_mapped_ = false;
  }
}

void Reach::read(int rank, std::size_t piece, std::size_t begin, std::span<std::byte> into) const {
  const Post& post = lane_.of(rank).post;
  if (!attach(&::process_vm_readv, post.process, post.where[piece] + begin * width_, into.data(),
              into.size()))
    throw Error::from_errno(errno, "rank {} was lost: cannot read its memory", rank);
}

void Reach::write(int rank, std::size_t piece, std::size_t begin, std::span<const std::byte> from) const {
  const Post& post = lane_.of(rank).post;
  auto* const source = const_cast<std::byte*>(from.data());  // iovec serves reading as well
  if (!attach(&::process_vm_writev, post.process, post.where[piece] + begin * width_, source, from.size()))
    throw Error::from_errno(errno, "rank {} was lost: cannot write its memory", rank);
}

}  // namespace longship::collective
