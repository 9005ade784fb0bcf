// SPDX-License-Identifier: Apache-2.0
// Writes one SquashFS file: contents as they come, compressed by as many threads as there are cores; inodes
// and directories at the end. zstd, 128 KiB blocks, tails of files packed together, equal files stored once.
// Everything belongs to root, set-id bits and capabilities are gone: in a box they would mean nothing, and
// files are equal for all users. The same tree and contents in the same order give the same bytes, however
// many cores.
#pragma once
#include <memory>

#include "image_writer.h"

namespace longship::image {

class SquashfsWriter final : public ImageWriter {
 public:
  explicit SquashfsWriter(int fd);  // an empty file, open for reading and writing
  // Starts with a copy of the blocks of a file that this class wrote, for members that say where in it they
  // are stored: a change to a large image costs a copy of bytes, or not even that where files can share them,
  // and no compressing.
  SquashfsWriter(int fd, int base);
  ~SquashfsWriter() override;
  SquashfsWriter(const SquashfsWriter&) = delete;
  SquashfsWriter& operator=(const SquashfsWriter&) = delete;

  void store(const std::shared_ptr<Inode>& inode, const Member& member, ByteSource& content) override;
  [[nodiscard]] ImageSummary finish(Node& root) override;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace longship::image
