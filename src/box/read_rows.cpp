// SPDX-License-Identifier: Apache-2.0
#include "read_rows.h"

#include <algorithm>

namespace longship::box {

std::optional<std::uint64_t> ReadRows::next(std::uint64_t file, std::uint64_t begin, std::uint64_t end) {
  const auto row = std::find_if(rows_.begin(), rows_.end(),
                                [&](const Row& known) { return goes_on(known, file, begin, end); });
  if (row == rows_.end()) {
    rows_[oldest_++ % rows_.size()] = {.file = file, .end = end, .said = 0, .reads = 1};
    return {};
  }
  row->end = end;
  if (row->reads < least && ++row->reads < least) return {};
  const std::uint64_t block = (end + block_ - 1) / block_ * block_;
  if (block <= row->said) return {};
  row->said = block;
  return block;
}

// The kernel asks for windows around the pages that are touched: they overlap, or leave a little out.
bool ReadRows::goes_on(const Row& row, std::uint64_t file, std::uint64_t begin, std::uint64_t end) const {
  return row.file == file && row.end > 0 && end > row.end && begin + block_ >= row.end &&
         begin <= row.end + block_;
}

}  // namespace longship::box
