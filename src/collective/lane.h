// SPDX-License-Identifier: Apache-2.0
// What the ranks of a node share for one all-reduce at a time: counters, a stage of slots for what is copied,
// and a table per rank that says where its tensors lie.
//
// There are two lanes for all ranks of a node, so that a caller who waits for its operation (shortcut.h) need
// not wait for those that the engine runs in the background, and one for each process set with several ranks
// there (set_lane.h). Everything starts as zero bytes.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace longship::collective {

inline constexpr std::size_t cache_line = 64;

// Where a rank's tensors are, so that the others can reach them.
struct Post {
  static constexpr std::size_t most_pieces = 512;
  static constexpr std::uint64_t in_arena = std::uint64_t{1} << 63;

  std::uint64_t where[most_pieces] = {};  // `in_arena` and an offset (memory.h); 0 if it is private
};

// A rank's part of a lane.
struct LaneRank {
  // The staged way (staged.cpp).
  alignas(cache_line) std::atomic<std::uint64_t> staged;
  alignas(cache_line) std::atomic<std::uint64_t> reduced;
  alignas(cache_line) std::atomic<std::uint64_t> consumed;
  std::atomic<std::uint64_t>
      nan_staged;  // the end of the latest operation in whose slice of this rank was a NaN
  // In place (in_place.cpp).
  alignas(cache_line) std::atomic<std::uint64_t> posted;
  alignas(cache_line) std::atomic<std::uint64_t> finished;
  std::atomic<std::uint64_t> nan_in;  // the latest operation in whose part of this rank there was a NaN
  // How much of this rank's part of the tensor is taken, by whoever does it.
  alignas(cache_line) std::atomic<std::uint64_t> taken;
  // A shortcut's (shortcut.cpp).
  alignas(cache_line) std::atomic<std::uint32_t> sleeping;
  std::atomic<std::uint64_t> given_up;
  alignas(cache_line) Post post;
};

// The part of all ranks.
struct LaneHead {
  static constexpr std::size_t meetings = 4;
  // Who comes brings along where its tensor is (as in a Post), if there are few: in the line that all look at
  // anyway. To fetch another one from each rank takes as long as to reduce 16 KiB.
  static constexpr int most_who_tell = 7;
  struct alignas(cache_line) Meeting {
    std::atomic<std::uint64_t> word;
    std::uint64_t where[most_who_tell];  // written before the word, which all read first
  };
  static_assert(sizeof(Meeting) == cache_line);
  Meeting meeting[meetings];
};

class Segment;

// One rank's view of a lane.
struct Lane {
  static constexpr int engine = 0, shortcut = 1, count = 2;
  static constexpr std::size_t stage_slots = 4;
  static constexpr std::size_t slot_bytes = 128 * 1024;
  // What a shortcut's ranks hand each other before they meet, when others may still read from a slot above.
  static constexpr std::size_t small_slots = 4;
  static constexpr std::size_t small_bytes = 16 * 1024;

  Segment& segment;
  int number, rank, ranks;
  LaneHead& head;
  std::span<LaneRank> all;
  std::byte *slots, *smalls;
  std::span<const int> node_ranks;  // who the ranks of the lane are among those of the node; outlives this

  [[nodiscard]] static std::size_t bytes_for(std::size_t ranks);  // whole pages
  [[nodiscard]] static Lane at(std::byte* start, Segment& segment, int number, int rank,
                               std::span<const int> node_ranks);

  [[nodiscard]] LaneRank& own() const { return all[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] LaneRank& of(int other) const { return all[static_cast<std::size_t>(other)]; }
  [[nodiscard]] std::byte* slot(int of_rank, std::uint64_t chunk) const {
    const std::size_t index = static_cast<std::size_t>(of_rank) * stage_slots + chunk % stage_slots;
    return slots + index * slot_bytes;
  }
  [[nodiscard]] std::byte* small_slot(int of_rank, std::uint64_t meeting) const {
    const std::size_t index = static_cast<std::size_t>(of_rank) * small_slots + meeting % small_slots;
    return smalls + index * small_bytes;
  }

  using Counter = std::atomic<std::uint64_t> LaneRank::*;
  // Stores it for the others, and wakes those that sleep.
  void publish(Counter counter, std::uint64_t value) const;
  // The least of a counter over all other ranks is looked up only when the last known one does not suffice.
  [[nodiscard]] bool all_have(Counter counter, std::uint64_t& known, std::uint64_t wanted) const;

  // In that operation of in_place.cpp, once all have finished it.
  [[nodiscard]] bool anybody_found_nan(std::uint64_t operation) const;

  // The shortcut's sleep, as segment.h tells it, on a futex. Ends when somebody publishes, or soon.
  void announce_sleep() const;  // then look once more
  void sleep() const;
  void stay_awake() const;

 private:
  void wake_sleepers() const;
};

}  // namespace longship::collective
