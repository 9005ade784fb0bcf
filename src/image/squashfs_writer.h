// SPDX-License-Identifier: Apache-2.0
// Writes one SquashFS file: contents as they come, compressed by as many threads as there are cores; inodes
// and directories at the end. zstd, 128 KiB blocks, tails of files packed together, equal files stored once.
// Everything belongs to root, set-id bits and capabilities are gone: in a box they would mean nothing, and
// files are equal for all users. The same tree and contents in the same order give the same bytes, however
// many cores.
#pragma once
#include <cstdint>
#include <memory>

#include "bytes.h"
#include "tree.h"

namespace longship::image {

struct SquashfsSummary {
  std::uint64_t files = 0;  // names that are not directories
  std::uint64_t bytes = 0;  // of the SquashFS file
};

class SquashfsWriter {
 public:
  explicit SquashfsWriter(int fd);  // an empty file, open for reading and writing
  // Starts with a copy of the blocks of a file that this class wrote, so that adopt() can use them: a change
  // to a large image costs a copy of bytes, or not even that where files can share them, and no compressing.
  SquashfsWriter(int fd, int base);
  ~SquashfsWriter();
  SquashfsWriter(const SquashfsWriter&) = delete;
  SquashfsWriter& operator=(const SquashfsWriter&) = delete;

  // Makes a file's content the inode's.
  void store(const std::shared_ptr<Inode>& inode, ByteSource& content);
  // The same for a file of the base, from its inode there.
  void adopt(Inode& inode, const sqfs_inode_generic_t& stored);
  [[nodiscard]] SquashfsSummary finish(Node& root);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace longship::image
