// SPDX-License-Identifier: Apache-2.0
// A SquashFS file open for reading in user space, by libsquashfuse. One object is for one thread: its tables
// and metadata are not locked; another thread opens the file again, and may share the blocks.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>

#include "base/fd.h"
#include "block_cache.h"

namespace longship::box {

class SquashFs {
 public:
  // The descriptor is borrowed; `name` is for errors; without `blocks` it has some of its own.
  SquashFs(int file, const std::string& name, std::shared_ptr<BlockCache> blocks = nullptr);
  ~SquashFs() { sqfs_destroy(&fs_); }
  SquashFs(const SquashFs&) = delete;
  SquashFs& operator=(const SquashFs&) = delete;
  [[nodiscard]] sqfs* get() { return &fs_; }
  [[nodiscard]] BlockCache& blocks() { return *blocks_; }

  std::unordered_set<std::uint64_t> good_indexes;  // of directories, that were looked at: checked_squashfs.h

 private:
  sqfs fs_ = {};
  std::shared_ptr<BlockCache> blocks_;
};

}  // namespace longship::box
