// SPDX-License-Identifier: Apache-2.0
// An image's tree in memory: names, and what they stand for. File contents are not in it; they are in the
// SquashFS file already when their name gets here.
#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "member.h"

struct sqfs_inode_generic_t;

namespace longship::image {

// What one or more names stand for.
struct Inode {
  Inode() = default;
  Inode(const Inode&) = delete;
  Inode& operator=(const Inode&) = delete;
  ~Inode();

  Kind kind = Kind::directory;
  unsigned mode = 0755;
  std::int64_t mtime = 0;
  std::string link;  // a symlink's text
  Attributes attributes;
  sqfs_inode_generic_t* data = nullptr;  // of a file: where its blocks are; made by SquashfsWriter::store
  bool awaited = false;                  // stands for a hard link whose target has not come yet

  // For the writing of the inode table.
  std::uint32_t names = 0, number = 0;
  std::uint64_t reference = 0;
  bool written = false;
};

struct Node {
  static constexpr int never = std::numeric_limits<int>::max();

  std::shared_ptr<Inode> inode;  // null: nothing is here, but a whiteout was
  std::map<std::string, std::unique_ptr<Node>, std::less<>> children;
  int layer =
      never;  // which one it came from, counted from the top; never: made because something is beneath it
  int made = never;    // the layer that first had something here or beneath
  int closed = never;  // layers after this one (further down) add nothing at or beneath this name

  [[nodiscard]] bool is_directory() const { return inode != nullptr && inode->kind == Kind::directory; }
};

// The node at a normal path, or null.
[[nodiscard]] Node* find(Node& root, std::string_view path);

}  // namespace longship::image
