// SPDX-License-Identifier: Apache-2.0
// Blocks of files' contents, unpacked. To unpack one takes longer than all else that a read needs, and
// several threads read one image: what one of them has unpacked is there for the others, and who needs what
// another is just unpacking waits a moment for it.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "read_around.h"

extern "C" {
#include <squashfuse/squashfuse.h>
}

namespace longship::box {

class BlockCache {
 public:
  using Block = std::shared_ptr<const sqfs_block>;

  explicit BlockCache(std::size_t most) : most_(most) {}
  // Null if it cannot be unpacked. `header` is how the image describes the block: its size, and whether it is
  // compressed.
  [[nodiscard]] Block get(sqfs& image, std::uint64_t position, std::uint32_t header);
  // The same, unless it is there or somebody unpacks it.
  void prepare(sqfs& image, std::uint64_t position, std::uint32_t header);
  void clear();

 private:
  struct Entry {
    std::uint64_t position = 0;
    Block block;  // none yet: somebody unpacks it
  };
  using Entries = std::list<Entry>;  // what was asked for last is at the end
  Entries::iterator find(std::uint64_t position);
  bool is_being_unpacked(std::uint64_t position);
  Block unpack(sqfs& image, std::uint64_t position, std::uint32_t header, std::unique_lock<std::mutex>& lock);
  void forget_oldest();
  [[nodiscard]] ReadAround::Stretch around(const sqfs& image, std::uint64_t position);

  std::size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Entries entries_;
  std::optional<ReadAround> around_;  // from the first block on
};

}  // namespace longship::box
