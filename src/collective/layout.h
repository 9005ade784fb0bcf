// SPDX-License-Identifier: Apache-2.0
// Who speaks with whom, and about which part: the rank arithmetic of the schedules, apart from any sending.
#pragma once
#include <cstddef>
#include <vector>

namespace longship::collective {

// A half-open range of elements or bytes.
struct Range {
  std::size_t begin = 0, end = 0;
  [[nodiscard]] std::size_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

// The index-th of `parts` nearly equal parts of `total`; the first ones are larger by one.
[[nodiscard]] Range part_of(std::size_t total, std::size_t parts, std::size_t index);

// value mod size, also for values down to -size.
[[nodiscard]] int wrapped(int value, int size);

// Halving-doubling needs a power of two: with r ranks too many, of the first 2r the even ones hand their
// values to their odd neighbour and wait.
struct Folding {
  int active = 1;            // how many take part: a power of two
  bool folded = false;       // this rank gives to `partner` and gets the result from it
  bool has_partner = false;  // this rank takes from `partner` first
  int partner = -1;
  int position = -1;  // among the active, -1 if folded
};
[[nodiscard]] Folding fold(int rank, int size);
[[nodiscard]] int rank_at(int position, int size);  // the inverse for active ranks

// What a rank keeps and gives away when it halves a range with the one whose position differs in `bit`.
struct Halves {
  Range kept, given;
};
[[nodiscard]] Halves halve(Range range, int position, int bit);

// A binomial tree over `size` ranks, rooted at `root`.
struct TreePlace {
  int parent = -1;            // -1 at the root
  std::vector<int> children;  // those with the largest subtree first
};
[[nodiscard]] TreePlace tree_place(int rank, int size, int root);

}  // namespace longship::collective
