// SPDX-License-Identifier: Apache-2.0
// Contents given to the kernel before it asks for them. It asks for windows around the pages that a program
// touches, which are parts of the blocks that an image is made of; the rest of such a block is unpacked then,
// costs nothing more, and saves a round trip when the program comes to it.
//
// To give takes the lock of each page, and pages are locked while the kernel waits for their content from us.
// So a thread of its own gives, and nobody who answers requests ever waits for it: what comes while it has
// enough to do is left out.
//
// That pays while the first program starts, which waits for each answer. Later it would only be in the way of
// those who read much, so it ends after a few megabytes.
#pragma once
#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

struct fuse_session;

namespace longship::box {

class FusePush {
 public:
  explicit FusePush(fuse_session* session) : session_(session) {}
  FusePush(const FusePush&) = delete;
  FusePush& operator=(const FusePush&) = delete;
  ~FusePush();

  // Whether what begins here is worth a copy: not if it was given a moment ago, others wait, or it was
  // enough.
  [[nodiscard]] bool wants(std::uint64_t file, std::uint64_t offset);
  void give(std::uint64_t file, std::uint64_t offset, std::vector<char> bytes);

 private:
  struct Gift {
    std::uint64_t file = 0, offset = 0;
    std::vector<char> bytes;
  };
  struct Given {
    std::uint64_t file = 0, offset = 0;
    bool operator==(const Given&) const = default;
  };
  void work();

  fuse_session* session_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Gift> gifts_;
  std::array<Given, 32> given_ = {};  // the latest
  std::size_t count_ = 0;             // of all
  bool over_ = false;
  std::thread thread_;  // from the first gift on
};

}  // namespace longship::box
