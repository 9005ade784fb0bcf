// SPDX-License-Identifier: Apache-2.0
#include "staged.h"

#include <algorithm>

#include "copy.h"
#include "reduce.h"

namespace longship::collective {
namespace {

// Below this many bytes per chunk the second exchange costs more than the additional reads.
constexpr std::size_t whole_up_to = 16 * 1024;

}  // namespace

Staged::Staged(Lane lane, Pieces pieces, Op op)
    : lane_(lane),
      pieces_(std::move(pieces)),
      op_(op),
      type_(pieces_.front().type),
      width_(size_of(type_)),
      total_(total_count(pieces_)) {
  per_chunk_ = Lane::slot_bytes / width_;
  chunks_ = (total_ + per_chunk_ - 1) / per_chunk_;
  sliced_ = lane_.ranks > 2 && total_ * width_ > whole_up_to;
  first_ = lane_.own().staged.load(std::memory_order_relaxed);
  staged_ = reduced_ = consumed_ = first_;
}

bool Staged::advance() {
  bool moved = true;
  while (moved) {
    moved = stage_next();
    if (sliced_) moved = reduce_next_slice() || moved;
    moved = (sliced_ ? collect_next() : reduce_next()) || moved;
  }
  return consumed_ == first_ + chunks_;
}

// Slices are reduced by others, who say so before they say that they have. Nobody says it of the next
// operation before this rank has come to that.
bool Staged::found_nan() const {
  if (!sliced_) return found_nan_;
  return std::any_of(lane_.all.begin(), lane_.all.end(), [&](const LaneRank& rank) {
    return rank.nan_staged.load(std::memory_order_relaxed) == first_ + chunks_;
  });
}

// Which elements of the whole a chunk holds.
Range Staged::range_of(std::uint64_t chunk) const {
  const std::size_t begin = static_cast<std::size_t>(chunk - first_) * per_chunk_;
  return {begin, std::min(begin + per_chunk_, total_)};
}

Range Staged::slice_of(std::uint64_t chunk, int rank) const {
  return part_of(range_of(chunk).size(), static_cast<std::size_t>(lane_.ranks),
                 static_cast<std::size_t>(rank));
}

bool Staged::stage_next() {
  if (staged_ == first_ + chunks_) return false;
  if (staged_ - consumed_ >= Lane::stage_slots) return false;
  if (staged_ >= Lane::stage_slots &&
      !lane_.all_have(&LaneRank::consumed, all_consumed_, staged_ + 1 - Lane::stage_slots))
    return false;
  std::byte* const slot = lane_.slot(lane_.rank, staged_);
  for_each_piece(pieces_, range_of(staged_), [&](const Part& part) {
    copy_bytes(slot + part.offset * width_, part.data, part.count * width_);
  });
  lane_.publish(&LaneRank::staged, ++staged_);
  return true;
}

bool Staged::reduce_next() {
  if (consumed_ == staged_ || !lane_.all_have(&LaneRank::staged, all_staged_, consumed_ + 1)) return false;
  for_each_piece(pieces_, range_of(consumed_),
                 [&](const Part& part) { combine_slots(consumed_, part.offset, part.data, part.count); });
  lane_.publish(&LaneRank::consumed, ++consumed_);
  return true;
}

bool Staged::reduce_next_slice() {
  if (reduced_ == staged_ || !lane_.all_have(&LaneRank::staged, all_staged_, reduced_ + 1)) return false;
  const Range slice = slice_of(reduced_, lane_.rank);
  std::byte* const own = lane_.slot(lane_.rank, reduced_) + slice.begin * width_;
  combine_slots(reduced_, slice.begin, own, slice.size());
  if (found_nan_) lane_.own().nan_staged.store(first_ + chunks_, std::memory_order_relaxed);
  lane_.publish(&LaneRank::reduced, ++reduced_);
  return true;
}

bool Staged::collect_next() {
  if (consumed_ == reduced_ || !lane_.all_have(&LaneRank::reduced, all_reduced_, consumed_ + 1)) return false;
  const Range range = range_of(consumed_);
  for (int rank = 0; rank < lane_.ranks; ++rank) {
    const Range slice = slice_of(consumed_, rank);
    const std::byte* const from = lane_.slot(rank, consumed_) + slice.begin * width_;
    for_each_piece(pieces_, {range.begin + slice.begin, range.begin + slice.end}, [&](const Part& part) {
      copy_bytes(part.data, from + part.offset * width_, part.count * width_);
    });
  }
  lane_.publish(&LaneRank::consumed, ++consumed_);
  return true;
}

// In the order of ranks, whoever computes it.
void Staged::combine_slots(std::uint64_t chunk, std::size_t offset, std::byte* out, std::size_t count) {
  std::vector<const std::byte*> inputs;
  for (int rank = 0; rank < lane_.ranks; ++rank) inputs.push_back(lane_.slot(rank, chunk) + offset * width_);
  found_nan_ = combine_all(type_, op_, inputs, {&out, 1}, count) || found_nan_;
}

}  // namespace longship::collective
