// SPDX-License-Identifier: Apache-2.0
#include "layout.h"

#include <algorithm>
#include <bit>

namespace longship::collective {

Range part_of(std::size_t total, std::size_t parts, std::size_t index) {
  const std::size_t each = total / parts;
  const std::size_t larger = total % parts;
  const std::size_t begin = index * each + std::min(index, larger);
  return {begin, begin + each + (index < larger ? 1 : 0)};
}

int wrapped(int value, int size) {
  return (value + size) % size;
}

Folding fold(int rank, int size) {
  Folding folding;
  folding.active = static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
  const int extra = size - folding.active;
  if (rank >= 2 * extra) {
    folding.position = rank - extra;
    return folding;
  }
  folding.partner = rank ^ 1;
  folding.folded = rank % 2 == 0;
  folding.has_partner = !folding.folded;
  if (!folding.folded) folding.position = rank / 2;
  return folding;
}

int rank_at(int position, int size) {
  const int extra = size - static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
  return position < extra ? 2 * position + 1 : position + extra;
}

// The lower position keeps the lower half.
Halves halve(Range range, int position, int bit) {
  const std::size_t middle = range.begin + range.size() / 2;
  const Range lower = {range.begin, middle};
  const Range upper = {middle, range.end};
  if ((position & bit) == 0) return {lower, upper};
  return {upper, lower};
}

TreePlace tree_place(int rank, int size, int root) {
  // Numbered from the root, a rank's parent is itself without its lowest set bit.
  const int relative = wrapped(rank - root, size);
  TreePlace place;
  int bit = 1;
  while (bit < size && (relative & bit) == 0) bit <<= 1;
  if (relative != 0) place.parent = wrapped((relative ^ bit) + root, size);
  for (bit >>= 1; bit > 0; bit >>= 1)
    if (relative + bit < size) place.children.push_back((relative + bit + root) % size);
  return place;
}

}  // namespace longship::collective
