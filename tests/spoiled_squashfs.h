// SPDX-License-Identifier: Apache-2.0
// SquashFS files as no honest program writes them: mksquashfs makes one without compression, and bytes of it
// are changed. Positions are those of the format: the superblock's fields, and of a directory's entry or an
// inode.
#pragma once
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/process.h"

namespace longship {

class SpoiledSquashfs {
 public:
  // Of the superblock.
  static constexpr std::size_t block_size = 12, fragments = 16, compression = 20, block_log = 22, ids = 26,
                               version = 28, root_inode = 32, bytes_used = 40, id_table = 48,
                               xattr_table = 56, inode_table = 64, directory_table = 72, fragment_table = 80;
  // Of an inode.
  static constexpr std::size_t directory_block = 16, directory_offset = 26, link_size = 20, file_size = 28;

  SpoiledSquashfs(const std::filesystem::path& tree, const std::filesystem::path& image) : path_(image) {
    Command command;
    command.arguments = {"mksquashfs", tree,         image,    "-noI",         "-noD",      "-noF", "-noX",
                         "-noappend",  "-no-xattrs", "-quiet", "-no-progress", "-all-root", "-b",   "4096"};
    static_cast<void>(output_of(command));
    bytes_ = read_file(image);
  }
  [[nodiscard]] const std::filesystem::path& write() const {
    write_file(path_, bytes_);
    return path_;
  }

  template <class Number>
  SpoiledSquashfs& put(std::size_t at, Number number) {
    std::memcpy(bytes_.data() + at, &number, sizeof number);
    return *this;
  }
  template <class Number>
  [[nodiscard]] Number get(std::size_t at) const {
    Number number{};
    std::memcpy(&number, bytes_.data() + at, sizeof number);
    return number;
  }

  // Where the name stands in its directory's list.
  [[nodiscard]] std::size_t name(const std::string& name) const {
    const auto found = bytes_.find(name, get<std::uint64_t>(directory_table));
    if (found == std::string::npos) throw Error("the test has no {}", name);
    return found;
  }
  SpoiledSquashfs& rename(const std::string& from, const std::string& to) {
    bytes_.replace(name(from), to.size(), to);
    return *this;
  }
  // Where the inode that the name leads to begins; all are in the first block of their table.
  [[nodiscard]] std::size_t inode(const std::string& of) const {
    return inode_at(get<std::uint16_t>(name(of) - 8));
  }
  [[nodiscard]] std::size_t inode_of_root() const { return inode_at(get<std::uint16_t>(root_inode)); }
  // Makes a name lead to the inode of another, or of the root.
  SpoiledSquashfs& lead(const std::string& from, const std::string& to) {
    return put(name(from) - 8, get<std::uint16_t>(name(to) - 8));
  }
  SpoiledSquashfs& lead_to_root(const std::string& from) {
    return put(name(from) - 8, get<std::uint16_t>(root_inode));
  }

 private:
  [[nodiscard]] std::size_t inode_at(std::uint16_t offset) const {
    return static_cast<std::size_t>(get<std::uint64_t>(inode_table)) + 2 + offset;
  }

  std::filesystem::path path_;
  std::string bytes_;
};

}  // namespace longship
