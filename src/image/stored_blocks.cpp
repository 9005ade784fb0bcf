// SPDX-License-Identifier: Apache-2.0
#include "stored_blocks.h"

namespace longship::image {

std::uint64_t StoredBlocks::append(std::string_view bytes, std::uint64_t checksum) {
  const std::uint64_t position = file_.size;
  check(file_.write_at(&file_, position, bytes.data(), bytes.size()), file_,
        "cannot write the SquashFS file");
  blocks_.push_back({position, checksum, static_cast<std::uint32_t>(bytes.size())});
  return position;
}

std::uint64_t StoredBlocks::end_row() {
  if (row_ == blocks_.size()) return 0;
  auto& alike = rows_[blocks_[row_].checksum];
  for (const std::size_t first : alike) {
    if (!is_like_row(first) || !equals_row(first)) continue;
    take_row_back();
    return blocks_[first].position;
  }
  alike.push_back(row_);
  return blocks_[row_].position;
}

// Without a look at the bytes.
bool StoredBlocks::is_like_row(std::size_t first) const {
  const std::size_t count = blocks_.size() - row_;
  if (count > row_ - first) return false;  // an equal one has to end before this one begins
  for (std::size_t i = 0; i < count; ++i)
    if (!blocks_[first + i].seems(blocks_[row_ + i])) return false;
  return true;
}

bool StoredBlocks::equals_row(std::size_t first) {
  for (std::size_t i = 0; row_ + i < blocks_.size(); ++i) {
    read(blocks_[first + i], one_);
    read(blocks_[row_ + i], other_);
    if (one_ != other_) return false;
  }
  return true;
}

void StoredBlocks::take_row_back() {
  check(file_.truncate(&file_, blocks_[row_].position), file_, "cannot write the SquashFS file");
  blocks_.resize(row_);
}

void StoredBlocks::read(const Stored& block, std::vector<char>& into) {
  into.resize(block.size);
  check(file_.read_at(&file_, block.position, into.data(), into.size()), file_,
        "cannot read the SquashFS file again");
}

}  // namespace longship::image
