// SPDX-License-Identifier: Apache-2.0
// Sparse members of a tar archive: a file of which only some pieces are in the archive, the rest being zeros.
//
// There are four ways to say which pieces. GNU's old one has them in the header and in blocks behind it; pax
// 0.0 in a pair of records for each; pax 0.1 in one record, "offset,length,offset,length"; pax 1.0 as lines
// of digits in front of the content. All become a SparseMap, which is checked before it is believed: pieces
// that overlap, run backwards or beyond the file, or are not what the archive holds, are an Error. Fuzzed by
// tests/fuzz/tar_reader_fuzz.cpp.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bytes.h"
#include "tar_fields.h"

namespace longship::image {

struct Piece {
  std::uint64_t offset = 0, length = 0;
};

struct SparseMap {
  std::vector<Piece> pieces;
  std::uint64_t size = 0;  // of the file with its holes
};

// An Error if the pieces are not in order, not within the file, or together not `stored` bytes.
void check_map(const SparseMap& map, std::uint64_t stored);

// What the records "GNU.sparse.KEY" of a pax header say.
class SparseRecords {
 public:
  void apply(std::string_view key, std::string_view value);  // without the prefix

  [[nodiscard]] bool any() const { return any_; }
  [[nodiscard]] const std::optional<std::string>& name() const { return name_; }
  // Reads what pax 1.0 has in front of the content, at most `most` bytes of it.
  [[nodiscard]] SparseMap map(ByteSource& content, std::size_t most) &&;

 private:
  void apply_map(std::string_view text);

  bool any_ = false;
  std::optional<std::string> name_;
  std::optional<std::uint64_t> size_, count_, offset_;  // offset_: of a piece whose length has not come
  std::uint64_t major_ = 0, minor_ = 0;
  std::vector<Piece> pieces_;
};

// GNU's old way, of a header of type 'S'; `next_block` gives the blocks behind it, of which at most `most`
// bytes are read.
[[nodiscard]] SparseMap old_sparse_map(const TarBlock& header, const std::function<TarBlock()>& next_block,
                                       std::size_t most);

// The file as it was, zeros in the holes, from a source that has only the pieces.
class SparseSource final : public ByteSource {
 public:
  SparseSource(ByteSource& pieces, SparseMap map) : source_(pieces), map_(std::move(map)) {}
  [[nodiscard]] std::size_t read(char* into, std::size_t size) override;
  [[nodiscard]] std::string_view take(std::span<char> room) override;

 private:
  // How many bytes follow here that are all in a piece, or all in a hole.
  struct Stretch {
    std::uint64_t length = 0;
    bool is_hole = false;
  };
  [[nodiscard]] Stretch stretch();

  ByteSource& source_;
  SparseMap map_;
  std::size_t next_ = 0;  // the piece that is being read, or comes after the hole
  std::uint64_t at_ = 0;  // in the file
};

}  // namespace longship::image
