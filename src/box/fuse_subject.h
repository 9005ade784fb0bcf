// SPDX-License-Identifier: Apache-2.0
// What all answers of the FUSE server begin with: the file that a request is about, read through this
// thread's own view of the image.
#pragma once
#include <sys/stat.h>

#include <memory>
#include <vector>

#include "checked_squashfs.h"
#include "fuse_operations.h"
#include "fuse_push.h"
#include "libfuse.h"
#include "unpack_ahead.h"

namespace longship::box {

inline constexpr double for_ever = 1e9;  // seconds

struct Server {
  int image;
  Owner owner;
  std::shared_ptr<BlockCache> blocks;  // of all threads
  // Whether the kernel takes "not implemented" for an answer, and opens by itself from then on: files since
  // Linux 3.15, directories since 5.1. An older one would hand the error to the program.
  bool refuses_open = false, refuses_opendir = false;
  FusePush* push = nullptr;
  UnpackAhead* ahead = nullptr;
};
[[nodiscard]] const Server& server_of(fuse_req_t request);

// What a thread reads with; all but the blocks is its own.
struct Reading {
  explicit Reading(const Server& server) : image(server.image, "", server.blocks) {}
  SquashFs image;
  DirectoryEntry entry;
  std::vector<char> buffer;
};
[[nodiscard]] Reading* this_threads_reading(const Server& server) noexcept;  // null if it cannot be read
void end_this_threads_reading();

// FUSE's number for a file is where its inode lies, so nothing has to be remembered. Only 1 is taken, for the
// root.
[[nodiscard]] fuse_ino_t number_of(sqfs* fs, sqfs_inode_id place);

[[nodiscard]] struct stat attributes(const sqfs_inode& inode, const Owner& owner);

// A request's file; answers the request itself if there is none.
class Subject {
 public:
  Subject(fuse_req_t request, fuse_ino_t number);
  explicit operator bool() const { return found_; }
  [[nodiscard]] sqfs* fs() const { return reading->image.get(); }

  const Server& server;
  Reading* reading;
  sqfs_inode inode = {};

 private:
  bool found_ = false;
};

}  // namespace longship::box
