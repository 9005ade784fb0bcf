// SPDX-License-Identifier: Apache-2.0
// Blocks unpacked before they are asked for, where files are read from front to back: the reader waits for
// neither the disk nor the unpacking, if there is a core that has nothing else to do.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "read_rows.h"
#include "squashfs.h"

namespace longship::box {

class UnpackAhead {
 public:
  UnpackAhead(int image, std::shared_ptr<BlockCache> blocks) : image_(image), blocks_(std::move(blocks)) {}
  UnpackAhead(const UnpackAhead&) = delete;
  UnpackAhead& operator=(const UnpackAhead&) = delete;
  ~UnpackAhead();

  // These bytes of a file were read. It is known by a number of the caller's.
  void was_read(const sqfs_inode& inode, std::uint64_t number, std::uint64_t begin, std::uint64_t end,
                std::uint64_t block_size);
  [[nodiscard]] bool at_work();

 private:
  struct Task {
    sqfs_inode inode;
    std::uint64_t offset = 0;
  };
  void start();
  void work();
  void unpack(Task task);

  int image_;
  std::shared_ptr<BlockCache> blocks_;
  std::optional<SquashFs> reading_;  // the thread's
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<ReadRows> rows_;
  std::deque<Task> tasks_;
  bool unpacking_ = false, over_ = false;
  std::thread thread_;  // from the first task on
};

}  // namespace longship::box
