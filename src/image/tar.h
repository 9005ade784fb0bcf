// SPDX-License-Identifier: Apache-2.0
// A tar archive written by a stranger, read member by member.
//
// Understands ustar, pax (path, linkpath, size, mtime, SCHILY.xattr.*), GNU's long names and base-256
// numbers, and sparse files (sparse.h). Every number is checked before it is used, nothing larger than
// `largest_extension` is held in memory, every name is normal_path()ed. What is not understood (volumes,
// unknown types) is an Error that names the member: guessing would make an image that differs from what its
// author meant. Fuzzed by tests/fuzz/tar_reader_fuzz.cpp.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bytes.h"
#include "member.h"
#include "sparse.h"

namespace longship::image {

class TarReader {
 public:
  // Of all pax headers, GNU long names and maps of holes of one member.
  static constexpr std::size_t largest_extension = std::size_t{1} << 20;

  explicit TarReader(ByteSource& source) : source_(source), content_(*this) {}
  TarReader(const TarReader&) = delete;
  TarReader& operator=(const TarReader&) = delete;

  // The next member, or nothing at the end; content that was not read is skipped. Whiteouts are already
  // interpreted.
  [[nodiscard]] std::optional<Member> next();
  // Of the member that next() gave last.
  [[nodiscard]] ByteSource& content() {
    if (sparse_) return *sparse_;
    return content_;
  }
  // After the end: whether the archive said itself that it ends there. Without it a truncated one looks
  // complete.
  [[nodiscard]] bool has_end_marker() const { return end_marker_; }

 private:
  using Block = TarBlock;

  // As it is in the archive.
  class Content final : public ByteSource {
   public:
    explicit Content(TarReader& reader) : reader_(reader) {}
    [[nodiscard]] std::size_t read(char* into, std::size_t size) override;
    [[nodiscard]] std::string_view take(std::span<char> room) override;

   private:
    [[nodiscard]] std::size_t wanted(std::size_t size) const;
    void count(std::size_t got);

    TarReader& reader_;
  };

  // What the headers before a member say about it.
  struct Extension {
    std::optional<std::string> path, link;
    std::optional<std::uint64_t> size;
    std::optional<std::int64_t> mtime;
    Attributes attributes;
    SparseRecords sparse;
    std::size_t bytes = 0;
  };

  [[nodiscard]] bool read_block(Block& block);  // false at the end
  void skip_content();
  [[nodiscard]] std::string extension_text(std::uint64_t size, std::size_t before);
  static void apply_pax(Extension& extension, std::string_view text);
  [[nodiscard]] Member member_of(const Block& block, Extension& extension);
  void make_sparse(Member& member, const Block& block, Extension& extension);

  ByteSource& source_;
  Content content_;
  std::optional<SparseSource> sparse_;  // of the current member, if it is one
  std::uint64_t in_holes_ = 0;          // of all members
  std::uint64_t left_ = 0;              // of the current member's content
  std::uint64_t padding_ = 0;           // after it, up to the next block
  std::string current_;                 // its name, for errors
  bool end_marker_ = false;
};

}  // namespace longship::image
