// SPDX-License-Identifier: Apache-2.0
#include "fuse_push.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "libfuse.h"

namespace longship::box {
namespace {

constexpr std::size_t most_waiting = 4;
constexpr std::size_t enough = 64;

}  // namespace

FusePush::~FusePush() {
  {
    const std::scoped_lock lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool FusePush::wants(std::uint64_t file, std::uint64_t offset) {
  const std::scoped_lock lock(mutex_);
  const Given wanted = {file, offset};
  if (count_ >= enough || gifts_.size() >= most_waiting) return false;
  if (std::find(given_.begin(), given_.end(), wanted) != given_.end()) return false;
  given_[count_++ % given_.size()] = wanted;
  return true;
}

void FusePush::give(std::uint64_t file, std::uint64_t offset, std::vector<char> bytes) {
  const std::scoped_lock lock(mutex_);
  gifts_.push_back({file, offset, std::move(bytes)});
  if (thread_.joinable())
    changed_.notify_one();
  else
    try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error&) {
      gifts_.clear();  // no more threads are allowed: the kernel has to ask
    }
}

void FusePush::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return over_ || !gifts_.empty(); });
    if (over_) return;
    const Gift gift = std::move(gifts_.front());
    gifts_.pop_front();
    lock.unlock();
    fuse_bufvec bytes = FUSE_BUFVEC_INIT(gift.bytes.size());
    bytes.buf[0].mem = const_cast<char*>(gift.bytes.data());
    // An error means that the kernel has forgotten the file, or the mount is gone.
    fuse_lowlevel_notify_store(session_, gift.file, static_cast<off_t>(gift.offset), &bytes,
                               fuse_buf_copy_flags(0));
    lock.lock();
  }
}

}  // namespace longship::box
