// SPDX-License-Identifier: Apache-2.0
// The blocks of a SquashFS file, one behind the other in the order in which they come. Those of one file are
// a row; a row that is equal to what is there already, block for block, is taken back, and found there.
#pragma once
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "squashfs.h"

namespace longship::image {

class StoredBlocks {
 public:
  explicit StoredBlocks(SquashFile& file) : file_(file) {}

  void begin_row() { row_ = blocks_.size(); }
  // Returns where it is. The checksum is one of these bytes, the same for equal ones.
  std::uint64_t append(std::string_view bytes, std::uint64_t checksum);
  // Returns where the row is, whose blocks are not where append() said if there is an equal one; 0 if it has
  // none.
  [[nodiscard]] std::uint64_t end_row();

 private:
  struct Stored {
    std::uint64_t position = 0, checksum = 0;
    std::uint32_t size = 0;
    [[nodiscard]] bool seems(const Stored& other) const {
      return checksum == other.checksum && size == other.size;
    }
  };
  [[nodiscard]] bool is_like_row(std::size_t first) const;
  [[nodiscard]] bool equals_row(std::size_t first);
  void take_row_back();
  void read(const Stored& block, std::vector<char>& into);

  SquashFile& file_;
  std::vector<Stored> blocks_;
  std::size_t row_ = 0;                                               // its first block
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> rows_;  // first blocks by their checksums
  std::vector<char> one_, other_;                                     // to compare
};

}  // namespace longship::image
