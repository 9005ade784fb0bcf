// SPDX-License-Identifier: Apache-2.0
#include "in_place.h"

#include <algorithm>

#include "reduce.h"
#include "segment.h"

namespace longship::collective {
namespace {

// A small tensor is cut into one chunk per rank; a large one into more, so that ranks finish together, but
// not so many that the common counter is felt.
constexpr std::size_t least_chunk = 2 * 1024;
constexpr std::size_t shared_evenly_up_to = 64 * 1024;
constexpr std::size_t largest_chunk = 256 * 1024;

std::size_t chunk_bytes(std::size_t total, int ranks) {
  const std::size_t share = total / static_cast<std::size_t>(ranks);
  const std::size_t chunk = share <= shared_evenly_up_to ? share : share / 2;
  return std::clamp((chunk + cache_line - 1) / cache_line * cache_line, least_chunk, largest_chunk);
}

}  // namespace

bool is_shared_evenly(std::size_t bytes, int ranks) {
  return bytes <= shared_evenly_up_to * static_cast<std::size_t>(ranks);
}

Range even_part(std::size_t count, std::size_t width, int ranks, int rank) {
  const std::size_t each = chunk_bytes(count * width, ranks) / width;
  const std::size_t begin = std::min(each * static_cast<std::size_t>(rank), count);
  return {begin, std::min(begin + each, count)};
}

InPlace::InPlace(const Lane& lane, Op op, Workspace& space)
    : lane_(lane),
      op_(op),
      space_(space),
      type_(space.pieces.front().type),
      width_(size_of(type_)),
      total_(total_count(space.pieces)),
      per_chunk_(chunk_bytes(total_ * width_, lane.ranks) / width_),
      post_number_(lane.own().posted.load(std::memory_order_relaxed) + 1),
      number_(lane.own().finished.load(std::memory_order_relaxed) + 1) {}

void InPlace::post() {
  lane_.own().taken.store(0, std::memory_order_relaxed);  // all have finished what was before
  auto& post = lane_.own().post;
  for (std::size_t i = 0; i < space_.pieces.size(); ++i) {
    const auto offset =
        lane_.segment.memory()->offset_of(space_.pieces[i].data, space_.pieces[i].count * width_);
    post.where[i] = offset ? *offset | Post::in_arena : 0;
  }
}

bool InPlace::possible() {
  reach_.emplace(lane_, space_);
  return reach_->complete();
}

bool InPlace::advance(bool holds_back) {
  if (!worked_) {
    left_to_others_ = holds_back && !has_one_for_each();
    if (left_to_others_ && !all_taken()) return false;
    work();
    worked_ = true;
    if (found_nan_) lane_.own().nan_in.store(number_, std::memory_order_relaxed);
    lane_.publish(&LaneRank::finished, number_);
  }
  if (!lane_.all_have(&LaneRank::finished, all_finished_, number_)) return false;
  found_nan_ = lane_.anybody_found_nan(number_);
  return true;
}

// Of this operation: nobody begins the next one before this rank has finished its own.
bool InPlace::all_taken() const {
  for (int rank = 0; rank < lane_.ranks; ++rank)
    if (lane_.of(rank).taken.load(std::memory_order_relaxed) < part(rank).size()) return false;
  return true;
}

// Of the chunks.
Range InPlace::part(int rank) const {
  return part_of(chunks(), static_cast<std::size_t>(lane_.ranks), static_cast<std::size_t>(rank));
}

// Its own part first, then those of the ranks after it. Where there is one chunk for each, nobody has to ask.
void InPlace::work() {
  if (has_one_for_each()) {
    if (static_cast<std::size_t>(lane_.rank) < chunks()) work_on(static_cast<std::size_t>(lane_.rank));
    return;
  }
  for (int step = 0; step < lane_.ranks; ++step) work_on_part_of((lane_.rank + step) % lane_.ranks);
}

void InPlace::work_on_part_of(int rank) {
  const Range whole = part(rank);
  auto& taken = lane_.of(rank).taken;
  while (taken.load(std::memory_order_relaxed) < whole.size()) {
    const std::uint64_t own = taken.fetch_add(1, std::memory_order_relaxed);
    if (own >= whole.size()) return;
    work_on(whole.begin + static_cast<std::size_t>(own));
  }
}

void InPlace::work_on(std::size_t chunk) {
  const std::size_t begin = chunk * per_chunk_;
  for_each_piece(space_.pieces, {begin, std::min(begin + per_chunk_, total_)},
                 [&](const Part& part) { reduce(part.piece, part.begin, part.count); });
}

void InPlace::reduce(std::size_t piece, std::size_t begin, std::size_t count) {
  space_.inputs.clear();
  space_.outputs.clear();
  for (int rank = 0; rank < lane_.ranks; ++rank) {
    std::byte* const part = reach_->mapped(rank, piece) + begin * width_;
    space_.inputs.push_back(part);
    space_.outputs.push_back(part);
  }
  found_nan_ = combine_all(type_, op_, space_.inputs, space_.outputs, count) || found_nan_;
}

}  // namespace longship::collective
