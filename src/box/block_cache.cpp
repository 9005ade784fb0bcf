// SPDX-License-Identifier: Apache-2.0
#include "block_cache.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "ask_disk.h"

namespace longship::box {
namespace {

// Who unpacks it may have been put aside by the scheduler; then it is better to do it oneself.
constexpr std::chrono::microseconds moment{300};

BlockCache::Block unpack_block(sqfs& image, std::uint64_t position, std::uint32_t header) noexcept {
  sqfs_block* block = nullptr;
  if (sqfs_data_block_read(&image, static_cast<sqfs_off_t>(position), header, &block) != SQFS_OK) return {};
  try {
    return {block, sqfs_block_dispose};  // which it calls, too, if it throws
  } catch (const std::bad_alloc&) {
    return {};
  }
}

}  // namespace

BlockCache::Block BlockCache::get(sqfs& image, std::uint64_t position, std::uint32_t header) {
  std::unique_lock lock(mutex_);
  if (is_being_unpacked(position))
    changed_.wait_for(lock, moment, [&] { return !is_being_unpacked(position); });
  if (const auto entry = find(position); entry != entries_.end() && entry->block) {
    entries_.splice(entries_.end(), entries_, entry);
    return entry->block;
  }
  return unpack(image, position, header, lock);
}

void BlockCache::prepare(sqfs& image, std::uint64_t position, std::uint32_t header) {
  std::unique_lock lock(mutex_);
  if (find(position) == entries_.end()) unpack(image, position, header, lock);
}

BlockCache::Block BlockCache::unpack(sqfs& image, std::uint64_t position, std::uint32_t header,
                                     std::unique_lock<std::mutex>& lock) {
  const auto wanted = around(image, position);
  const auto entry = entries_.insert(entries_.end(), {position, {}});
  lock.unlock();
  if (wanted.length > 0) ask_disk_around(image.fd, position, wanted);
  Block block = unpack_block(image, position, header);
  lock.lock();
  if (block)
    entry->block = block;
  else
    entries_.erase(entry);
  forget_oldest();
  changed_.notify_all();
  return block;
}

bool BlockCache::is_being_unpacked(std::uint64_t position) {
  const auto entry = find(position);
  return entry != entries_.end() && !entry->block;
}

ReadAround::Stretch BlockCache::around(const sqfs& image, std::uint64_t position) {
  if (!around_) around_.emplace(image.sb.bytes_used);
  return around_->around(position);
}

void BlockCache::clear() {
  const std::scoped_lock lock(mutex_);
  around_.reset();
  std::erase_if(entries_, [](const Entry& entry) { return entry.block != nullptr; });
}

BlockCache::Entries::iterator BlockCache::find(std::uint64_t position) {
  auto found = entries_.end();  // two may unpack the same: then one that is ready
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry)
    if (entry->position == position && (found == entries_.end() || entry->block)) found = entry;
  return found;
}

void BlockCache::forget_oldest() {
  for (auto entry = entries_.begin(); entry != entries_.end() && entries_.size() > most_;)
    entry = entry->block ? entries_.erase(entry) : std::next(entry);
}

}  // namespace longship::box
