// SPDX-License-Identifier: Apache-2.0
// All-reduce within a node by copying, through the stages of a lane: for what is small, and for private
// memory where it costs less than to reach that of others, or where that cannot be (in_place.cpp).
//
// The values pass in chunks of one slot. A rank copies a chunk into its slot and counts it as `staged`. Then
//   - whole: each rank reduces all slots of the chunk straight into its tensor. One exchange and no second
//     copy, but n reads per rank: for two ranks, and for what is small;
//   - sliced: each rank reduces its n-th of the chunk in its own slot, counts it as `reduced`, and once all
//     have done so collects the slices: two reads per rank however many there are.
// Either way it then counts the chunk as `consumed`; a slot is used again when all have consumed it. Ranks
// reduce in the same order, or only one of them does, so all get the same bits. The counters go on from one
// operation to the next and are equal in between.
#pragma once
#include "layout.h"
#include "schedules.h"

namespace longship::collective {

class Staged {
 public:
  Staged(Lane lane, Pieces pieces, Op op);

  // As far as it goes now; true when all is done.
  bool advance();
  [[nodiscard]] bool found_nan() const;  // in the result, by any rank; then

 private:
  [[nodiscard]] Range range_of(std::uint64_t chunk) const;
  [[nodiscard]] Range slice_of(std::uint64_t chunk, int rank) const;
  bool stage_next();
  bool reduce_next();
  bool reduce_next_slice();
  bool collect_next();
  void combine_slots(std::uint64_t chunk, std::size_t offset, std::byte* out, std::size_t count);

  Lane lane_;
  Pieces pieces_;
  Op op_;
  Type type_;
  std::size_t width_;
  std::size_t total_ = 0, per_chunk_ = 1;
  std::uint64_t chunks_ = 0;
  bool sliced_ = false, found_nan_ = false;
  std::uint64_t first_, staged_, reduced_, consumed_;
  std::uint64_t all_staged_ = 0, all_reduced_ = 0, all_consumed_ = 0;
};

}  // namespace longship::collective
