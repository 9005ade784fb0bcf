// SPDX-License-Identifier: Apache-2.0
// Memory for tensors that the ranks of a node see in each other: what lies in it is reduced in place, without
// copies.
//
// Each rank has an arena, a memfd that all ranks of the node hold since the rendezvous, and takes memory from
// its own. The arena is a sparse file: it grows when it must, pages exist once they are touched and are given
// back when memory is freed, and the kernel drops all of it with the last process. The others map it when
// they first need a part of it that they do not see yet; an address is told to them as an offset in the file.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "base/fd.h"

namespace longship::collective {

// Any thread.
class Memory {
 public:
  // An empty arena, for the rendezvous to hand out.
  [[nodiscard]] static Fd create_arena();

  // `arenas` by rank within the node.
  Memory(std::vector<Fd> arenas, int rank);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Zeros, from the start of a page on. Throws Error if a limit stands against it.
  [[nodiscard]] std::byte* allocate(std::size_t bytes);
  // False if it does not start a piece of this memory.
  bool release(void* memory);

  // Where in this rank's arena that is, or nothing if it is not all in one piece of it.
  [[nodiscard]] std::optional<std::uint64_t> offset_of(const void* data, std::size_t bytes) const;
  // Grows whenever a piece comes or goes: as long as it is the same, so is every answer of offset_of().
  [[nodiscard]] std::uint64_t changes() const { return changes_.load(std::memory_order_acquire); }
  // What another rank has there. Stays valid as long as this.
  [[nodiscard]] std::byte* of_rank(int rank, std::uint64_t offset, std::size_t bytes);

 private:
  struct Piece {
    std::uint64_t offset;
    std::size_t length;
  };
  struct View {
    std::byte* base = nullptr;
    std::size_t length = 0;
  };

  std::uint64_t take_place(std::size_t length);
  void return_place(Piece piece);
  void grow_to(std::uint64_t length);

  std::vector<Fd> arenas_;
  int rank_;
  mutable std::mutex mutex_;
  std::map<std::byte*, Piece> pieces_;           // by address
  std::map<std::uint64_t, std::size_t> places_;  // free parts of the file, by offset; neighbours are merged
  std::uint64_t length_ = 0;                     // of the file
  std::atomic<std::uint64_t> changes_ = 0;
  // By rank. Older views stay as well, because somebody may be reading through them.
  std::vector<std::deque<View>> views_;
  std::vector<std::atomic<const View*>> latest_;
};

}  // namespace longship::collective
