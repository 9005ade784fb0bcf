// SPDX-License-Identifier: Apache-2.0
// The tensors of all ranks of a node where this one sees them: in the Memory of each.
#pragma once
#include "lane.h"
#include "workspace.h"

namespace longship::collective {

class Reach {
 public:
  // After all ranks have posted.
  Reach(const Lane& lane, Workspace& space);

  // False if any tensor is private: the same answer on all ranks.
  [[nodiscard]] bool complete() const { return complete_; }
  // Where that piece of a rank is to be seen from here.
  [[nodiscard]] std::byte* mapped(int rank, std::size_t piece) const {
    return space_.mapped[static_cast<std::size_t>(rank) * space_.pieces.size() + piece];
  }

 private:
  [[nodiscard]] const std::uint64_t* where(int rank) const;
  void map(int rank);

  const Lane& lane_;
  Workspace& space_;  // its `mapped`: of rank 0, of rank 1, …
  std::size_t width_;
  bool complete_ = true;
};

}  // namespace longship::collective
