// SPDX-License-Identifier: Apache-2.0
// All-reduce within a node where the tensors lie: every value is read once and written once per rank, and
// nothing is copied in between.
//
// Each rank posts where its tensors are. Once all have posted, each takes the chunks of its own part, one
// after the other, and then what others have left of theirs: reduces the chunk over all ranks, in the order
// of ranks, and writes the result to all. Whoever finds no more says that it has finished, and an operation
// ends when all have. So a rank without a core of its own does less of the work instead of holding it up, the
// bits do not depend on who did what, and as a rule a rank sees the same pages each time: the first look at
// one costs more than to reduce it.
#pragma once
#include <optional>

#include "layout.h"
#include "reach.h"
#include "workspace.h"

namespace longship::collective {

// A tensor that is small enough has one chunk for each rank, and nobody asks who does what.
[[nodiscard]] bool is_shared_evenly(std::size_t bytes, int ranks);
[[nodiscard]] Range even_part(std::size_t count, std::size_t width, int ranks,
                              int rank);  // then, in elements

class InPlace {
 public:
  // With as many pieces as there are places in a Post, none of them empty.
  InPlace(const Lane& lane, Op op, Workspace& space);

  // Says where this rank's tensors lie. Nobody looks before all have been told that it has (post_number).
  void post();
  [[nodiscard]] std::uint64_t post_number() const { return post_number_; }

  // Once all have posted. False, on all ranks alike: a tensor is private, so it is not done.
  [[nodiscard]] bool possible();
  // As far as it goes now; true when all is done. A rank that holds back takes no chunks while there are any:
  // with one for each it does its own all the same.
  bool advance(bool holds_back);
  [[nodiscard]] bool is_left_to_others() const { return left_to_others_; }
  [[nodiscard]] bool found_nan() const { return found_nan_; }  // in the result, by any rank; then

 private:
  [[nodiscard]] std::size_t chunks() const { return (total_ + per_chunk_ - 1) / per_chunk_; }
  [[nodiscard]] bool has_one_for_each() const { return chunks() <= static_cast<std::size_t>(lane_.ranks); }
  [[nodiscard]] Range part(int rank) const;
  [[nodiscard]] bool all_taken() const;
  void work();
  void work_on_part_of(int rank);
  void work_on(std::size_t chunk);
  void reduce(std::size_t piece, std::size_t begin, std::size_t count);

  const Lane& lane_;
  Op op_;
  Workspace& space_;
  Type type_;
  std::size_t width_, total_, per_chunk_;
  std::uint64_t post_number_, number_;  // of this operation in the lane: some are only posted
  std::uint64_t all_finished_ = 0;
  bool worked_ = false, found_nan_ = false, left_to_others_ = false;
  std::optional<Reach> reach_;
};

}  // namespace longship::collective
