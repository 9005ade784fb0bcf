// SPDX-License-Identifier: Apache-2.0
// One name in a layer, wherever the layer comes from: a tar, a directory, an overlay's upper part, a SquashFS
// file.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"

struct sqfs_inode_generic_t;

namespace longship::image {

enum class Kind {
  file,
  directory,
  symlink,
  hard_link,
  fifo,
  socket,
  device,
  whiteout,  // hides this name in the layers below
  opaque,    // hides all that the layers below have in this directory
};

using Attributes = std::map<std::string, std::string>;  // extended ones

struct Member {
  Kind kind = Kind::file;
  std::string path;        // see normal_path(); empty for the root itself
  std::string link;        // a symlink's text, or a hard link's normal path
  unsigned mode = 0;       // permissions, with set-id and sticky bits
  std::int64_t mtime = 0;  // seconds
  std::uint64_t size = 0;  // of a file
  Attributes attributes;
  // Of a file whose blocks are in the image being written already (SquashfsWriter::continue_from): where they
  // are.
  const sqfs_inode_generic_t* stored = nullptr;
};

// "usr/bin/env" for "/usr//bin/./env" or "./usr/bin/env/": relative to the image's root, nothing to resolve
// left in it. An Error for what could lead elsewhere or cannot be a name: "..", NUL, a part of over 255
// bytes, over 4,095 in all.
[[nodiscard]] std::string normal_path(std::string_view path);

// An Error for a text that cannot be a symbolic link's: empty, with a NUL, too long. Where it leads does not
// matter: nothing is ever written through a link, and in a box the image is all there is.
void check_link(std::string_view text);

// A member that layers use to say that something below is gone: "a/.wh.b", "a/.wh..wh..opq". Changes kind and
// path; false for the book-keeping of aufs, which means nothing to us.
[[nodiscard]] bool interpret_whiteout(Member& member);

// within() for what is done with one of many members: its words are put together only if they are needed.
template <class Work>
decltype(auto) within_member(std::string_view name, Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (...) {
    within("member " + printable(name), [] { throw; });
    throw;
  }
}

}  // namespace longship::image
