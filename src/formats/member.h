// SPDX-License-Identifier: Apache-2.0
// One member of a code bundle, and how it stands in the tar archive: POSIX ustar headers of 512 bytes,
// preceded by a pax header where a name is too long for them. Only what a bundle may hold can be written or
// read.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace longship::formats {

struct Member {
  enum class Kind { file, directory, link };
  std::string name;  // relative, parts between single slashes, no "." or ".."
  Kind kind = Kind::file;
  bool executable = false;
  std::uint64_t size = 0;  // of a file
  std::string target;      // of a link
};

// An Error if the name could lead out of the directory in which the member is made.
void check_name(std::string_view name);

// An Error if the link could lead out. ".." may stand only at the front of the target, and not more often
// than the link is deep: then no chain of such links leads out either, whereas in "a/.." the "a" could itself
// be a link to somewhere higher up.
void check_link(std::string_view name, std::string_view target);

inline constexpr std::size_t tar_block = 512;
[[nodiscard]] inline std::size_t tar_padding(std::uint64_t size) {
  return static_cast<std::size_t>((tar_block - size % tar_block) % tar_block);
}

// The header block or blocks of a member.
[[nodiscard]] std::string tar_header(const Member& member);

// Understands header blocks in their order: a pax header counts for the member after it.
class TarHeaders {
 public:
  // What a block asks for: the member is complete, or `pax_size` bytes of a pax header come first, to be
  // given to pax().
  struct Next {
    bool complete = false;
    std::size_t pax_size = 0;
    Member member;
  };
  [[nodiscard]] Next block(std::string_view block);
  void pax(std::string_view records);

 private:
  std::string path_, link_path_, size_;  // from a pax header
  bool after_pax_ = false;
};

}  // namespace longship::formats
