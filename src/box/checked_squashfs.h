// SPDX-License-Identifier: Apache-2.0
// What libsquashfuse reads, with the bounds that it does not check: it believes where an image says that
// something lies and how long it is, and reads, or writes, past the end of its buffers. Who serves an image
// to a box stands outside of the box, so an image must not get hold of it. Fuzzed by
// tests/fuzz/squashfs_fuzz.cpp.
//
// Each is false for what is damaged.
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include "squashfs.h"

namespace longship::box {

[[nodiscard]] bool get_inode(SquashFs& image, sqfs_inode_id id, sqfs_inode& inode);

// A directory's entry and room for any length of a name that the library may come upon.
class DirectoryEntry {
 public:
  DirectoryEntry() : room_(longest) { sqfs_dentry_init(&entry_, room_.data()); }
  DirectoryEntry(const DirectoryEntry&) = delete;
  DirectoryEntry& operator=(const DirectoryEntry&) = delete;
  [[nodiscard]] sqfs_dir_entry* get() { return &entry_; }

 private:
  static constexpr std::size_t longest = 65536 + 2;  // a 16-bit length less one, and a NUL
  std::vector<char> room_;
  sqfs_dir_entry entry_ = {};
};

[[nodiscard]] bool open_directory(SquashFs& image, sqfs_inode& inode, sqfs_off_t offset, sqfs_dir& walk);
[[nodiscard]] bool look_up(SquashFs& image, sqfs_inode& inode, std::string_view name, DirectoryEntry& entry,
                           bool& found);

// As many bytes as there are, up to `size`.
[[nodiscard]] bool read_content(SquashFs& image, sqfs_inode& inode, std::uint64_t start, char* into,
                                std::size_t& size);
// Unpacks the block that this byte is in, unless that is done or somebody does it.
[[nodiscard]] bool prepare_content(SquashFs& image, sqfs_inode& inode, std::uint64_t start);

}  // namespace longship::box
