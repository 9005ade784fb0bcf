// SPDX-License-Identifier: Apache-2.0
// What a caller asks of all ranks together, and the words in which ranks tell each other about it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "costs.h"
#include "element.h"

namespace longship::collective {

// The numbers are part of the C ABI, but for the last two, which have functions of their own there.
enum class Kind : std::uint8_t {
  allreduce = 0,
  broadcast = 1,
  allgather = 2,
  barrier = 3,
  alltoall = 4,
  reducescatter = 5,
  join = 6,  // this rank has no more to reduce, and takes part with neutral values until all have said so
  add_set = 7,
  remove_set = 8,
};
inline constexpr int kind_count = 9;
inline constexpr int first_inner_kind = 7;
[[nodiscard]] std::string_view name_of(Kind kind);

// A rank is ready: told to rank 0, which decides when all are.
struct Announcement {
  Kind kind = Kind::allreduce;
  Type type = Type::f32;
  Op op = Op::sum;          // all-reduce, reduce-scatter
  int root = 0;             // broadcast; remove_set: its number
  std::uint64_t count = 0;  // elements; may differ between ranks for all-gather and all-to-all
  std::string name;         // what it is matched by
  int set = 0;              // the process set, 0 for all ranks
  double prescale = 1, postscale = 1;
  std::uint64_t row = 1;          // reduce-scatter: elements that stay together
  std::string group = {};         // those of one group are decided together
  std::uint32_t group_size = 0;   // how many there are, if there is a group
  std::vector<int> members = {};  // add_set: its ranks, ascending
  Type wire = Type::f32;          // reductions of f32: sent as f16 or bf16, if it says so
  bool device = false;            // in the memory of GPUs (device_group.h)

  [[nodiscard]] std::uint64_t bytes() const { return count * size_of(type); }
  [[nodiscard]] bool is_narrowed() const { return wire != Type::f32; }
  [[nodiscard]] std::uint64_t wire_bytes() const { return is_narrowed() ? count * size_of(wire) : bytes(); }
  bool operator==(const Announcement&) const = default;
};

// Whether these are one operation; what may differ between ranks does not count.
[[nodiscard]] bool agree(const Announcement& a, const Announcement& b);

// "all-reduce (sum) of 10 f32": for a sentence about ranks that do not agree.
[[nodiscard]] std::string described(const Announcement& one);

// Numbers of a Dictionary that follow each other.
struct NumberRange {
  std::uint32_t first = 0, count = 0;
  bool operator==(const NumberRange&) const = default;
};

// What rank 0 tells those concerned: do these now, as one, or give them up.
struct Decision {
  std::vector<std::string> names;     // several all-reduces of one type and operation are done as one
  std::vector<std::uint64_t> counts;  // all-gather: elements of each rank; join: the last one to join
  std::string error;                  // if not empty: why they cannot be done
  // Whose announcements an error answers. Each announcement is answered once, so that a rank
  // which asks for the same name again is not refused for the sake of one that comes late.
  std::vector<std::int32_t> to = {};
  int set = 0;
  std::uint64_t sequence = 0;              // counts what is done, over all sets
  std::uint64_t bytes = 0;                 // all-reduce: of all of them together, as they travel
  Way way = Way::direct;                   // how
  std::vector<NumberRange> numbers = {};   // on the wire, in the place of names that all know
  std::vector<Announcement> details = {};  // for ranks that joined: what the names stand for
  std::vector<std::byte> values = {};      // the result of a single tiny all-reduce (eager.h)
  bool operator==(const Decision&) const = default;
};

// An operation that somebody waits for, by set and name.
struct Awaited {
  int set = 0;
  std::string name;
  auto operator<=>(const Awaited&) const = default;
};

// From a rank to rank 0: what has become ready since, and whether the rank leaves.
struct Report {
  std::vector<Announcement> announcements;
  bool leaving = false;
  // Every thread of this rank that ever waits is waiting, for these; empty: no longer. `answered` counts the
  // decisions that reached this rank and are done, so that what is under way is not taken for a standstill.
  bool about_waiting = false;
  std::vector<Awaited> awaited = {};
  std::uint64_t answered = 0;
  std::vector<NumberRange> numbers = {};  // on the wire, in the place of announcements that rank 0 knows
  std::vector<std::byte> values = {};     // of a single announcement, if they are few (eager.h)
};

[[nodiscard]] std::vector<std::byte> encoded(const Report& report);
[[nodiscard]] std::vector<std::byte> encoded(const Decision& decision);
[[nodiscard]] Report decoded_report(std::span<const std::byte> bytes);      // an Error if it is not one
[[nodiscard]] Decision decoded_decision(std::span<const std::byte> bytes);  // likewise

// Reports and decisions are cut to stay below this, but for what they say about each rank; no name may
// fill one alone.
inline constexpr std::size_t longest_message = 64 * 1024;
inline constexpr std::size_t said_per_rank = sizeof(std::uint64_t) + sizeof(std::int32_t);
inline constexpr std::size_t longest_name = 4096;

}  // namespace longship::collective
