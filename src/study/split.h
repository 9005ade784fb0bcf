// SPDX-License-Identifier: Apache-2.0
// Which trials are good: the split into the best few and the others that TPE learns from.
#pragma once
#include <cstdint>
#include <tuple>
#include <vector>

#include "history.h"

namespace longship::study {

enum class Side : std::uint8_t { none, good, rest };

// Follows a history. Complete trials come first, by their value; then pruned ones, the longest first; then
// those that violate constraints. Of n finished trials ceil(n / 10) are good, at most 25 with one objective.
// Running ones count to the rest if they are to be avoided, so that parallel trials do not all go to the same
// place.
class Split {
 public:
  explicit Split(bool avoid_running) : avoid_running_(avoid_running) {}

  void follow(const History& history);
  // Of each trial, by its index.
  [[nodiscard]] const std::vector<Side>& sides() const { return sides_; }
  // Indices of the good ones, the best first.
  [[nodiscard]] std::vector<std::size_t> good() const;
  struct Ranked {
    std::vector<std::size_t> indices;  // of all that have ended, the best first
    std::size_t valid = 0;             // so many, from the first, are complete and violate nothing
  };
  [[nodiscard]] Ranked ranked() const;

 private:
  struct Key {
    int group;  // 0 complete, 1 pruned, 2 violates
    double first, second;
    std::uint32_t index;
    auto operator<=>(const Key&) const = default;
  };
  [[nodiscard]] static Key key_of(const History& history, std::uint32_t index);
  void place(const History& history, std::uint32_t index);
  void draw_line(const History& history);
  void rank_by_fronts(const History& history);

  bool avoid_running_;
  std::size_t cursor_ = 0;
  std::vector<Key> ranked_;
  std::size_t good_ = 0;  // so many of them, from the first
  std::vector<Side> sides_;
};

}  // namespace longship::study
