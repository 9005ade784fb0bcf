// SPDX-License-Identifier: Apache-2.0
// What the first program of an image is going to read, unpacked before it does: a box is prepared meanwhile,
// and on its way to the first line of main() a program waits for a block after the other.
//
// Which files that are is known for every program: the tables of users, which each box looks into, the
// program itself, and the loader and the C library, of which it touches almost all.
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "block_cache.h"

namespace longship::box {

class HeadStart {
 public:
  // `command` as it was typed; empty if it is not known. The image stays open meanwhile.
  HeadStart(int image, std::string command);
  HeadStart(const HeadStart&) = delete;
  HeadStart& operator=(const HeadStart&) = delete;
  ~HeadStart();

  [[nodiscard]] const std::shared_ptr<BlockCache>& blocks() const { return blocks_; }
  [[nodiscard]] bool at_work() const { return at_work_; }
  void stop() { over_ = true; }  // it is too late to be of use

 private:
  void work(int image, const std::string& command);

  std::shared_ptr<BlockCache> blocks_;
  std::atomic<bool> over_ = false, at_work_ = true;
  std::thread thread_;
};

}  // namespace longship::box
