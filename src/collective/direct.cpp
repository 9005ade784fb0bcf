// SPDX-License-Identifier: Apache-2.0
// All-reduce within a node, through the stages of a Segment.
//
// The values pass in chunks of one slot. A rank copies a chunk into its slot and counts it as `staged`. Then
//   - whole: each rank reduces all slots of the chunk straight into its tensor. One exchange and no second
//   copy, but n
//     reads per rank: for two ranks, and for what is small;
//   - sliced: each rank reduces its n-th of the chunk in its own slot, counts it as `reduced`, and once all
//   have done so
//     collects the slices: two reads per rank however many there are.
// Either way it then counts the chunk as `consumed`; a slot is used again when all have consumed it. Ranks
// reduce in the same order, or only one of them does, so all get the same bits. The counters go on from one
// operation to the next and are equal in between.
#include <algorithm>
#include <cstring>

#include "layout.h"
#include "reduce.h"
#include "schedules.h"

namespace longship::collective {
namespace {

// Below this many bytes per chunk the second exchange costs more than the additional reads.
constexpr std::size_t whole_up_to = 16 * 1024;

using Counter = std::atomic<std::uint64_t> RankState::*;

class Direct {
 public:
  Direct(Segment& segment, Pieces pieces, Op op)
      : segment_(segment),
        pieces_(std::move(pieces)),
        op_(op),
        type_(pieces_.front().type),
        width_(size_of(type_)) {
    for (const auto& piece : pieces_) total_ += piece.count;
    per_chunk_ = Segment::slot_bytes / width_;
    chunks_ = (total_ + per_chunk_ - 1) / per_chunk_;
    sliced_ = segment_.ranks() > 2 && total_ * width_ > whole_up_to;
    first_ = own().staged.load(std::memory_order_relaxed);
    staged_ = reduced_ = consumed_ = first_;
  }

  // As far as it goes now; true when all is done.
  bool advance() {
    bool moved = true;
    while (moved) {
      moved = stage_next();
      if (sliced_) moved = reduce_next_slice() || moved;
      moved = (sliced_ ? collect_next() : reduce_next()) || moved;
    }
    return consumed_ == first_ + chunks_;
  }

 private:
  RankState& own() const { return segment_.state(segment_.rank()); }

  // The least of a counter over all other ranks, looked up only when the last known one does not suffice.
  bool all_have(Counter counter, std::uint64_t& known, std::uint64_t wanted) const {
    if (known >= wanted) return true;
    std::uint64_t least = ~std::uint64_t{0};
    for (int rank = 0; rank < segment_.ranks(); ++rank)
      if (rank != segment_.rank())
        least = std::min(least, (segment_.state(rank).*counter).load(std::memory_order_acquire));
    known = least;
    return known >= wanted;
  }

  void publish(Counter counter, std::uint64_t value) const {
    (own().*counter).store(value, std::memory_order_release);
    segment_.ring_all_if_sleeping();
  }

  // Which elements of the whole a chunk holds.
  Range range_of(std::uint64_t chunk) const {
    const std::size_t begin = static_cast<std::size_t>(chunk - first_) * per_chunk_;
    return {begin, std::min(begin + per_chunk_, total_)};
  }

  // Calls work(address in the tensor, offset in the range, count) for each piece that the range touches.
  template <class Work>
  void for_each_piece(Range range, Work work) const {
    std::size_t start = 0;
    for (const auto& piece : pieces_) {
      const std::size_t begin = std::max(range.begin, start);
      const std::size_t end = std::min(range.end, start + piece.count);
      if (begin < end) work(piece.data + (begin - start) * width_, begin - range.begin, end - begin);
      start += piece.count;
      if (start >= range.end) break;
    }
  }

  bool stage_next() {
    if (staged_ == first_ + chunks_) return false;
    if (staged_ - consumed_ >= Segment::stage_slots) return false;
    if (staged_ >= Segment::stage_slots &&
        !all_have(&RankState::consumed, all_consumed_, staged_ + 1 - Segment::stage_slots))
      return false;
    std::byte* const slot = segment_.slot(segment_.rank(), staged_);
    for_each_piece(range_of(staged_), [&](const std::byte* data, std::size_t offset, std::size_t count) {
      std::memcpy(slot + offset * width_, data, count * width_);
    });
    publish(&RankState::staged, ++staged_);
    return true;
  }

  bool reduce_next() {
    if (consumed_ == staged_ || !all_have(&RankState::staged, all_staged_, consumed_ + 1)) return false;
    for_each_piece(range_of(consumed_), [&](std::byte* data, std::size_t offset, std::size_t count) {
      combine_all(consumed_, offset, data, count);
    });
    publish(&RankState::consumed, ++consumed_);
    return true;
  }

  bool reduce_next_slice() {
    if (reduced_ == staged_ || !all_have(&RankState::staged, all_staged_, reduced_ + 1)) return false;
    combine_into_own(reduced_, slice_of(reduced_, segment_.rank()));
    publish(&RankState::reduced, ++reduced_);
    return true;
  }

  bool collect_next() {
    if (consumed_ == reduced_ || !all_have(&RankState::reduced, all_reduced_, consumed_ + 1)) return false;
    const Range range = range_of(consumed_);
    for (int rank = 0; rank < segment_.ranks(); ++rank) {
      const Range slice = slice_of(consumed_, rank);
      const std::byte* const from = segment_.slot(rank, consumed_) + slice.begin * width_;
      for_each_piece({range.begin + slice.begin, range.begin + slice.end},
                     [&](std::byte* data, std::size_t offset, std::size_t count) {
                       std::memcpy(data, from + offset * width_, count * width_);
                     });
    }
    publish(&RankState::consumed, ++consumed_);
    return true;
  }

  Range slice_of(std::uint64_t chunk, int rank) const {
    return part_of(range_of(chunk).size(), static_cast<std::size_t>(segment_.ranks()),
                   static_cast<std::size_t>(rank));
  }

  // In the order of ranks, as each rank computes it for itself.
  void combine_all(std::uint64_t chunk, std::size_t offset, std::byte* out, std::size_t count) const {
    const auto slot = [&](int rank) { return segment_.slot(rank, chunk) + offset * width_; };
    combine(type_, op_, out, slot(0), slot(1), count);
    for (int rank = 2; rank < segment_.ranks(); ++rank) combine(type_, op_, out, out, slot(rank), count);
    if (op_ == Op::average) divide(type_, out, count, segment_.ranks());
  }

  // In its own slot: only this rank computes this slice, so any order will do.
  void combine_into_own(std::uint64_t chunk, Range slice) const {
    const auto slot = [&](int rank) { return segment_.slot(rank, chunk) + slice.begin * width_; };
    std::byte* const out = slot(segment_.rank());
    for (int rank = 0; rank < segment_.ranks(); ++rank)
      if (rank != segment_.rank()) combine(type_, op_, out, out, slot(rank), slice.size());
    if (op_ == Op::average) divide(type_, out, slice.size(), segment_.ranks());
  }

  Segment& segment_;
  Pieces pieces_;
  Op op_;
  Type type_;
  std::size_t width_;
  std::size_t total_ = 0, per_chunk_ = 1;
  std::uint64_t chunks_ = 0;
  bool sliced_ = false;
  std::uint64_t first_, staged_, reduced_, consumed_;
  std::uint64_t all_staged_ = 0, all_reduced_ = 0, all_consumed_ = 0;
};

}  // namespace

Schedule direct_allreduce(Segment& segment, Pieces pieces, Op op) {
  if (pieces.empty()) co_return;
  Direct direct(segment, std::move(pieces), op);
  while (!direct.advance()) co_await pause;
}

}  // namespace longship::collective
