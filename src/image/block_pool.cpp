// SPDX-License-Identifier: Apache-2.0
#include "block_pool.h"

#include <isa-l/crc64.h>
#include <isa-l/mem_routines.h>
#include <zstd.h>

#include <algorithm>

#include "base/error.h"
#include "base/turns.h"

namespace longship::image {
namespace {

// One thread can unpack what about three can compress; more than this would only hold memory.
constexpr unsigned most_threads = 8;

const std::uint8_t* as_bytes(const std::vector<char>& bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

}  // namespace

std::uint64_t checksum_of(const char* bytes, std::size_t size) {
  return crc64_ecma_refl(0, reinterpret_cast<const unsigned char*>(bytes), size);
}

BlockPool::BlockPool(const sqfs_compressor_t& compressor, std::size_t block_size, Done done)
    : block_size_(block_size), done_(std::move(done)) {
  const unsigned count = std::clamp(std::thread::hardware_concurrency(), 1u, most_threads);
  most_blocks_ = 4 + std::size_t{12} * count;
  for (unsigned i = 0; i < count; ++i) {
    auto* copy = static_cast<sqfs_compressor_t*>(sqfs_copy(&compressor));
    if (copy == nullptr) throw std::bad_alloc();
    compressors_.emplace_back(copy);
  }
  for (auto& own : compressors_) threads_.emplace_back([this, &own] { work(*own); });
}

BlockPool::~BlockPool() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  to_do_.notify_all();
  for (auto& thread : threads_) thread.join();
}

std::unique_ptr<Block> BlockPool::take() {
  if (free_.empty() && made_ == most_blocks_) await_half();
  while (auto block = oldest()) retire(std::move(block));
  if (free_.empty()) {
    ++made_;
    return std::make_unique<Block>(block_size_, ZSTD_compressBound(block_size_));
  }
  auto block = std::move(free_.back());
  free_.pop_back();
  return block;
}

void BlockPool::hand_in(std::unique_ptr<Block> block) {
  bool somebody_sleeps = false;
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(block.get());
    order_.push_back(std::move(block));
    somebody_sleeps = idle_ > 0;
  }
  if (somebody_sleeps) to_do_.notify_one();
}

void BlockPool::give_back(std::unique_ptr<Block> block) {
  block->file.reset();
  block->size = block->number = 0;
  block->packed_size = 0;
  block->checksum = 0;
  block->is_last = block->is_done = block->is_zero = false;
  free_.push_back(std::move(block));
}

void BlockPool::finish() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (order_.empty()) return;
      await(lock, *order_.front());
    }
    while (auto block = oldest()) retire(std::move(block));
  }
}

// Several at once: to be woken for each would cost time.
void BlockPool::await_half() {
  std::unique_lock lock(mutex_);
  await(lock, *order_[order_.size() / 2]);
  await(lock, *order_.front());
}

void BlockPool::await(std::unique_lock<std::mutex>& lock, const Block& block) {
  awaited_ = &block;
  is_done_.wait(lock, [&] { return block.is_done; });
  awaited_ = nullptr;
}

std::unique_ptr<Block> BlockPool::oldest() {
  const std::lock_guard lock(mutex_);
  if (order_.empty() || !order_.front()->is_done) return nullptr;
  auto block = std::move(order_.front());
  order_.pop_front();
  return block;
}

void BlockPool::retire(std::unique_ptr<Block> block) {
  done_(*block);
  give_back(std::move(block));
}

void BlockPool::work(sqfs_compressor_t& compressor) {
  // Whoever brings blocks comes first when there is something to bring: otherwise all compress what is left,
  // and then wait for the next.
  give_way();
  for (std::unique_lock lock(mutex_);;) {
    ++idle_;
    to_do_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
    --idle_;
    if (ended_) return;
    Block& block = *waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    compress(block, compressor);
    lock.lock();
    block.is_done = true;
    if (awaited_ == &block) is_done_.notify_one();
  }
}

void BlockPool::compress(Block& block, sqfs_compressor_t& compressor) const {
  const bool holds_tails = block.file == nullptr;
  block.is_zero = !holds_tails && isal_zero_detect(block.bytes.data(), block.size) == 0;
  if (block.is_zero) return;
  block.packed_size = compressor.do_block(
      &compressor, as_bytes(block.bytes), static_cast<sqfs_u32>(block.size),
      reinterpret_cast<sqfs_u8*>(block.packed.data()), static_cast<sqfs_u32>(block.packed.size()));
  const auto stored = block.stored();
  block.checksum = checksum_of(stored.data(), stored.size());
}

}  // namespace longship::image
