// SPDX-License-Identifier: Apache-2.0
// What a caller asks of all ranks together, and the words in which ranks tell each other about it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "element.h"

namespace longship::collective {

enum class Kind : std::uint8_t { allreduce = 0, broadcast = 1, allgather = 2, barrier = 3 };
inline constexpr int kind_count = 4;
[[nodiscard]] std::string_view name_of(Kind kind);

// A rank is ready: told to rank 0, which decides when all are.
struct Announcement {
  Kind kind = Kind::allreduce;
  Type type = Type::f32;
  Op op = Op::sum;          // all-reduce
  int root = 0;             // broadcast
  std::uint64_t count = 0;  // elements; may differ between ranks for all-gather
  std::string name;         // what it is matched by

  [[nodiscard]] std::uint64_t bytes() const { return count * size_of(type); }
};

// What rank 0 tells everybody: do these now, as one, or give them up.
struct Decision {
  std::vector<std::string> names;     // several all-reduces of one type and operation are done as one
  std::vector<std::uint64_t> counts;  // all-gather: elements of each rank
  std::string error;                  // if not empty: why they cannot be done
  // Whose announcements an error answers. Each announcement is answered once, so that a rank
  // which asks for the same name again is not refused for the sake of one that comes late.
  std::vector<std::int32_t> to = {};
  bool operator==(const Decision&) const = default;
};

// From a rank to rank 0: what has become ready since, and whether the rank leaves.
struct Report {
  std::vector<Announcement> announcements;
  bool leaving = false;
};

[[nodiscard]] std::vector<std::byte> encoded(const Report& report);
[[nodiscard]] std::vector<std::byte> encoded(const Decision& decision);
[[nodiscard]] Report decoded_report(std::span<const std::byte> bytes);      // an Error if it is not one
[[nodiscard]] Decision decoded_decision(std::span<const std::byte> bytes);  // likewise

// Reports and decisions are cut to stay below this, but for what a decision says about each rank; no name may
// fill one alone.
inline constexpr std::size_t longest_message = 64 * 1024;
inline constexpr std::size_t decided_per_rank = sizeof(std::uint64_t) + sizeof(std::int32_t);
inline constexpr std::size_t longest_name = 4096;

}  // namespace longship::collective
