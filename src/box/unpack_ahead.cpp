// SPDX-License-Identifier: Apache-2.0
#include "unpack_ahead.h"

#include <chrono>
#include <exception>
#include <system_error>
#include <utility>

#include "checked_squashfs.h"
#include "give_back.h"

namespace longship::box {
namespace {

constexpr std::size_t most_waiting = 4;
constexpr std::chrono::seconds patience{1};

}  // namespace

UnpackAhead::~UnpackAhead() {
  {
    const std::scoped_lock lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void UnpackAhead::was_read(const sqfs_inode& inode, std::uint64_t number, std::uint64_t begin,
                           std::uint64_t end, std::uint64_t block_size) {
  if (begin >= end) return;
  const std::scoped_lock lock(mutex_);
  if (!rows_) rows_.emplace(block_size);
  const auto next = rows_->next(number, begin, end);
  if (!next || *next >= inode.xtra.reg.file_size || tasks_.size() >= most_waiting) return;
  tasks_.push_back({inode, *next});
  if (thread_.joinable())
    changed_.notify_one();
  else
    start();
}

bool UnpackAhead::at_work() {
  const std::scoped_lock lock(mutex_);
  return unpacking_ || !tasks_.empty();
}

void UnpackAhead::start() {
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {
    tasks_.clear();  // no more threads are allowed: then it is unpacked when it is asked for
  }
}

void UnpackAhead::work() {
  std::unique_lock lock(mutex_);
  const auto is_wanted = [&] { return over_ || !tasks_.empty(); };
  for (;;) {
    if (!changed_.wait_for(lock, patience, is_wanted)) {
      lock.unlock();
      reading_.reset();  // what it took need not stay beside a job
      give_back_memory();
      lock.lock();
      changed_.wait(lock, is_wanted);
    }
    if (over_) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    unpacking_ = true;
    lock.unlock();
    unpack(std::move(task));
    lock.lock();
    unpacking_ = false;
  }
}

void UnpackAhead::unpack(Task task) {
  try {
    if (!reading_) reading_.emplace(image_, "", blocks_);
    (void)prepare_content(*reading_, task.inode, task.offset);
  } catch (const std::exception&) {  // a damaged image, or no memory: who asks will be told
  }
}

}  // namespace longship::box
