// SPDX-License-Identifier: Apache-2.0
// Who reads a file from front to back, and which block comes next for them. There may be several in one file:
// a loader goes through a library's table of relocations and through the data that it changes by that.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace longship::box {

class ReadRows {
 public:
  // So many reads make a row. Programs that just start do not get as far, and each of their reads is waited
  // for.
  static constexpr std::size_t least = 4;

  explicit ReadRows(std::uint64_t block) : block_(block) {}
  // These bytes of a file were read: where its next block begins, if that was one more of a row and was not
  // said before.
  [[nodiscard]] std::optional<std::uint64_t> next(std::uint64_t file, std::uint64_t begin, std::uint64_t end);

 private:
  struct Row {
    std::uint64_t file = 0, end = 0, said = 0;
    std::size_t reads = 0;
  };
  [[nodiscard]] bool goes_on(const Row& row, std::uint64_t file, std::uint64_t begin,
                             std::uint64_t end) const;

  std::uint64_t block_;
  std::array<Row, 16> rows_ = {};
  std::size_t oldest_ = 0;
};

}  // namespace longship::box
