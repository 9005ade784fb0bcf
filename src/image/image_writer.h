// SPDX-License-Identifier: Apache-2.0
// What the layers of an image become: a SquashFS file or a directory. Merge hands over the content of each
// file as it comes, when it is sure that no layer hides it, and at the end the tree of all names.
#pragma once
#include <cstdint>
#include <memory>

#include "bytes.h"
#include "member.h"
#include "tree.h"

namespace longship::image {

struct ImageSummary {
  std::uint64_t files = 0;  // names that are not directories
  std::uint64_t bytes = 0;  // of a SquashFS file
};

class ImageWriter {
 public:
  virtual ~ImageWriter() = default;
  // Makes the member's content the inode's. Where the inode is in the tree is certain only at the end: a
  // later member of the same layer may still take its name.
  virtual void store(const std::shared_ptr<Inode>& inode, const Member& member, ByteSource& content) = 0;
  [[nodiscard]] virtual ImageSummary finish(Node& root) = 0;
};

}  // namespace longship::image
