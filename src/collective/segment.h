// SPDX-License-Identifier: Apache-2.0
// The memory that the ranks of one node share: a ring of bytes for each ordered pair of ranks, lanes for
// reducing without messages (lane.h), and a bell per rank that ends its sleep.
//
// It is a memfd, made by the node's lowest rank and handed to the others, so nothing has a name in the file
// system and nothing stays behind. Pages exist once they are touched: the rings of pairs that never speak
// cost nothing.
//
// A rank about to sleep stores `sleeping`, fences, and looks once more; a rank that has published something
// fences and then reads `sleeping`. One of the two sees the other, so no wake-up is lost and none is paid for
// needlessly.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/fd.h"
#include "lane.h"
#include "memory.h"

namespace longship::collective {

// Everything here starts as zero bytes.
struct RingHead {
  alignas(cache_line) std::atomic<std::uint64_t> written;
  alignas(cache_line) std::atomic<std::uint64_t> read;
  alignas(cache_line) std::atomic<std::uint32_t> writer_waits;  // for space
};

struct RankState {
  alignas(cache_line) std::atomic<std::uint32_t> sleeping;
};

struct Ring {
  RingHead* head = nullptr;
  std::span<std::byte> bytes;  // a power of two
};

class Segment {
 public:
  // What has to be handed to the other ranks of the node: the memory, then a bell and an arena for each.
  struct Descriptors {
    Fd memory;
    std::vector<Fd> bells, arenas;
    [[nodiscard]] std::vector<int> numbers() const;
    [[nodiscard]] static Descriptors from(std::vector<Fd> received);
    [[nodiscard]] static std::size_t count(std::size_t ranks) { return 1 + 2 * ranks; }
  };
  [[nodiscard]] static Descriptors create(int ranks);

  // `rank` counts within the node.
  Segment(Descriptors descriptors, int rank);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return static_cast<int>(descriptors_.bells.size()); }
  [[nodiscard]] RankState& state(int rank) const;
  [[nodiscard]] Ring ring(int from, int to) const;
  [[nodiscard]] Lane lane(int number);

  // The memory for tensors. It may outlive the segment, as tensors outlive a shutdown.
  [[nodiscard]] const std::shared_ptr<Memory>& memory() const { return memory_; }

  // After something was published for that rank.
  void ring_bell_if_sleeping(int rank) const;
  void ring_if_sleeping(std::span<const int> ranks) const;  // all of them but this one
  void ring_bell(int rank) const;
  [[nodiscard]] int own_bell() const;  // readable once rung

  // The first rank (of the job) known to be lost, -1 for none. Told by whoever notices, seen by all.
  void set_lost(int rank) const;
  [[nodiscard]] int lost() const;

 private:
  struct Layout;
  Descriptors descriptors_;
  int rank_;
  std::shared_ptr<Memory> memory_;
  std::vector<int> all_ranks_;  // 0, 1, 2, …
  std::byte* base_ = nullptr;
  std::size_t length_ = 0;
};

}  // namespace longship::collective
