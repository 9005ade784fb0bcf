// SPDX-License-Identifier: Apache-2.0
// Blocks that several threads compress, and that come back in the order in which they were handed in: what is
// made of them is the same however many threads there are. The number of blocks is limited; who wants one
// more waits for the oldest.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "squashfs.h"

namespace longship::image {

struct StoredFile;

struct Block {
  Block(std::size_t most, std::size_t most_packed) : bytes(most), packed(most_packed) {}
  std::vector<char> bytes;
  std::size_t size = 0;  // of what is in it

  // Whose it is, for the maker.
  std::shared_ptr<StoredFile> file;  // null: it holds the tails of several
  std::size_t number = 0;            // in its file; or of all blocks of tails
  bool is_last = false;

  // Found out by compressing it.
  std::vector<char> packed;
  int packed_size = 0;         // 0: it does not become smaller; negative: libsquashfs' error
  std::uint64_t checksum = 0;  // of what is to be stored
  bool is_zero = false;
  bool is_done = false;  // guarded by the pool's mutex

  [[nodiscard]] std::string_view stored() const {
    if (packed_size > 0) return {packed.data(), static_cast<std::size_t>(packed_size)};
    return {bytes.data(), size};
  }
};

[[nodiscard]] std::uint64_t checksum_of(const char* bytes, std::size_t size);

class BlockPool {
 public:
  using Done = std::function<void(const Block& block)>;
  // `done` is called in the order of hand_in(), from take() and finish() and by no other thread.
  BlockPool(const sqfs_compressor_t& compressor, std::size_t block_size, Done done);
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  ~BlockPool();

  [[nodiscard]] std::unique_ptr<Block> take();  // an empty one
  void hand_in(std::unique_ptr<Block> block);
  void give_back(std::unique_ptr<Block> block);  // it was not needed
  void finish();                                 // returns when all are done

 private:
  void work(sqfs_compressor_t& compressor);
  void compress(Block& block, sqfs_compressor_t& compressor) const;
  [[nodiscard]] std::unique_ptr<Block> oldest();  // null: it is not done yet, or there is none
  void await_half();
  void await(std::unique_lock<std::mutex>& lock, const Block& block);
  void retire(std::unique_ptr<Block> block);

  std::size_t block_size_, most_blocks_;
  Done done_;
  std::vector<Squash<sqfs_compressor_t>> compressors_;  // one for each thread
  std::vector<std::unique_ptr<Block>> free_;
  std::size_t made_ = 0;

  std::mutex mutex_;
  std::condition_variable to_do_, is_done_;
  std::deque<std::unique_ptr<Block>> order_;
  std::deque<Block*> waiting_;  // those of them that no thread has taken up yet
  std::size_t idle_ = 0;        // threads
  const Block* awaited_ = nullptr;
  bool ended_ = false;
  std::vector<std::thread> threads_;  // last: they use the others
};

}  // namespace longship::image
