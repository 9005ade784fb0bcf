// SPDX-License-Identifier: Apache-2.0
// The memory that the ranks of one node share: a ring of bytes for each ordered pair of ranks, a stage per
// rank for reducing without messages, and a bell per rank that ends its sleep.
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
#include <span>
#include <vector>

#include "base/fd.h"

namespace longship::collective {

inline constexpr std::size_t cache_line = 64;

// Everything here starts as zero bytes.
struct RingHead {
  alignas(cache_line) std::atomic<std::uint64_t> written;
  alignas(cache_line) std::atomic<std::uint64_t> read;
  alignas(cache_line) std::atomic<std::uint32_t> writer_waits;  // for space
};

// Counters of the direct schedule; see direct.cpp.
struct RankState {
  alignas(cache_line) std::atomic<std::uint32_t> sleeping;
  alignas(cache_line) std::atomic<std::uint64_t> staged;
  alignas(cache_line) std::atomic<std::uint64_t> reduced;
  alignas(cache_line) std::atomic<std::uint64_t> consumed;
};

struct Ring {
  RingHead* head = nullptr;
  std::span<std::byte> bytes;  // a power of two
};

class Segment {
 public:
  static constexpr std::size_t stage_slots = 4;
  static constexpr std::size_t slot_bytes = 128 * 1024;

  // What has to be handed to the other ranks of the node: the memory, then one bell for each.
  struct Descriptors {
    Fd memory;
    std::vector<Fd> bells;
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
  [[nodiscard]] std::byte* slot(int rank, std::uint64_t chunk) const;

  // After something was published for that rank.
  void ring_bell_if_sleeping(int rank) const;
  void ring_all_if_sleeping() const;
  void ring_bell(int rank) const;
  [[nodiscard]] int own_bell() const;  // readable once rung

  // The first rank (of the job) known to be lost, -1 for none. Told by whoever notices, seen by all.
  void set_lost(int rank) const;
  [[nodiscard]] int lost() const;

 private:
  struct Layout;
  Descriptors descriptors_;
  int rank_;
  std::byte* base_ = nullptr;
  std::size_t length_ = 0;
};

}  // namespace longship::collective
