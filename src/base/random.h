// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same everywhere: on each machine, with each compiler, however many processes
// share the work. A generator is made for one purpose from the numbers that name it (seed, trial, parameter),
// so nothing has to be carried from one call to the next, and no two purposes disturb each other.
//
// SplitMix64 (Steele, Lea, Flood, 2014). Not for secrets.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace longship {

// Depends on all bits of both, and on their order.
[[nodiscard]] std::uint64_t mixed(std::uint64_t first, std::uint64_t second);
[[nodiscard]] std::uint64_t hash_of(std::string_view text);  // FNV-1a

class Random {
 public:
  explicit Random(std::initializer_list<std::uint64_t> names);

  std::uint64_t next();
  double uniform();                          // in [0, 1)
  double normal();                           // mean 0, variance 1
  std::uint64_t below(std::uint64_t count);  // 0 … count - 1

 private:
  std::uint64_t state_ = 0;
};

}  // namespace longship
