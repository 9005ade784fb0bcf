// SPDX-License-Identifier: Apache-2.0
// The tensors of the other ranks of a node, read and written by this one: mapped where they lie in a rank's
// Memory, else copied by cross-memory attach, which takes one system call and no second copy.
#pragma once
#include <span>

#include "lane.h"
#include "workspace.h"

namespace longship::collective {

// Whether `post` is of a process whose memory can be read: not that of another user, nor any under a hardened
// kernel. A wrong process of the same number (they count
// differently in other namespaces) does not have the token.
[[nodiscard]] bool can_attach(const Post& post);

class Reach {
 public:
  // After all ranks have posted. `attach`: private memory may be copied.
  Reach(const Lane& lane, Workspace& space, bool attach);

  // True if every rank can reach every tensor: the same answer on all of them.
  [[nodiscard]] bool complete() const { return complete_; }

  [[nodiscard]] bool all_mapped() const { return all_mapped_; }

  // Where that piece of a rank is to be seen from here, or null: then it has to be copied.
  [[nodiscard]] std::byte* mapped(int rank, std::size_t piece) const {
    return space_.mapped[static_cast<std::size_t>(rank) * space_.pieces.size() + piece];
  }
  // From the element `begin` of a piece on. What worked once fails only if the process has ended.
  void read(int rank, std::size_t piece, std::size_t begin, std::span<std::byte> into) const;
  void write(int rank, std::size_t piece, std::size_t begin, std::span<const std::byte> from) const;

 private:
  [[nodiscard]] const std::uint64_t* where(int rank) const;
  [[nodiscard]] bool everybody_attaches() const;
  void map(int rank);

  const Lane& lane_;
  Workspace& space_;  // its `mapped`: of rank 0, of rank 1, …
  std::size_t width_;
  bool complete_ = true, all_mapped_ = true;
};

}  // namespace longship::collective
