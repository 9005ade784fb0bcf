// SPDX-License-Identifier: Apache-2.0
// A SquashFS file open for reading in user space, by libsquashfuse. One object is for one thread: its caches
// are not locked; another thread opens the file again.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_set>

#include "base/fd.h"

extern "C" {
#include <squashfuse/squashfuse.h>
}

namespace longship::box {

class SquashFs {
 public:
  SquashFs(int file, const std::string& name);  // the descriptor is borrowed; `name` is for errors
  ~SquashFs() { sqfs_destroy(&fs_); }
  SquashFs(const SquashFs&) = delete;
  SquashFs& operator=(const SquashFs&) = delete;
  [[nodiscard]] sqfs* get() { return &fs_; }

  std::unordered_set<std::uint64_t> good_indexes;  // of directories, that were looked at: checked_squashfs.h

 private:
  sqfs fs_ = {};
};

}  // namespace longship::box
