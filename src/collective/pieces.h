// SPDX-License-Identifier: Apache-2.0
// Tensors that are reduced as if they were one.
#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "element.h"
#include "layout.h"

namespace longship::collective {

struct Values {
  Type type = Type::f32;
  std::byte* data = nullptr;
  std::size_t count = 0;
};
[[nodiscard]] inline std::span<std::byte> bytes_of(const Values& values, Range range) {
  const std::size_t width = size_of(values.type);
  return {values.data + range.begin * width, range.size() * width};
}
[[nodiscard]] inline std::span<std::byte> bytes_of(const Values& values) {
  return bytes_of(values, {0, values.count});
}

using Pieces = std::vector<Values>;  // of one type

[[nodiscard]] inline std::size_t total_count(const Pieces& pieces) {
  std::size_t total = 0;
  for (const auto& piece : pieces) total += piece.count;
  return total;
}

// What a range of the whole touches of one piece.
struct Part {
  std::size_t piece;   // which
  std::byte* data;     // where in the tensor it begins
  std::size_t begin;   // the same in elements
  std::size_t offset;  // where in the range
  std::size_t count;
};

template <class Work>
void for_each_piece(const Pieces& pieces, Range range, Work work) {
  std::size_t start = 0;
  for (std::size_t index = 0; index < pieces.size() && start < range.end; ++index) {
    const Values& piece = pieces[index];
    const std::size_t begin = std::max(range.begin, start);
    const std::size_t end = std::min(range.end, start + piece.count);
    if (begin < end)
      work(Part{index, piece.data + (begin - start) * size_of(piece.type), begin - start, begin - range.begin,
                end - begin});
    start += piece.count;
  }
}

}  // namespace longship::collective
