// SPDX-License-Identifier: Apache-2.0
#include "in_process.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"

namespace longship::agent {
namespace {

void signal(int fd) {
  const std::uint64_t one = 1;
  static_cast<void>(::write(fd, &one, sizeof one) == 0);
}

void unsignal(int fd) {
  std::uint64_t count = 0;
  static_cast<void>(::read(fd, &count, sizeof count) == 0);
}

}  // namespace

InProcess::InProcess(std::function<void(std::string)> sent, std::function<void()> closed)
    : sent_(std::move(sent)), closed_(std::move(closed)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_) throw Error::from_errno(errno, "cannot make an eventfd");
}

InProcess::~InProcess() {
  InProcess::close();
}

void InProcess::deliver(std::string frame) {
  const std::lock_guard lock(mutex_);
  if (!open_) return;
  frames_.push_back(std::move(frame));
  signal(wake_.get());
  arrived_.notify_one();
}

void InProcess::send(std::string_view frame) {
  {
    const std::lock_guard lock(mutex_);
    if (!open_) throw Error("the stream is closed");
  }
  sent_(std::string(frame));
}

std::optional<std::string> InProcess::receive(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, timeout, [&] { return !frames_.empty() || !open_; });
  if (frames_.empty()) return {};
  std::string frame = std::move(frames_.front());
  frames_.pop_front();
  if (frames_.empty() && open_) unsignal(wake_.get());
  return frame;
}

bool InProcess::open() const {
  const std::lock_guard lock(mutex_);
  return open_ || !frames_.empty();
}

std::string InProcess::ended_because() const {
  const std::lock_guard lock(mutex_);
  return why_;
}

void InProcess::close() {
  shut({});
  if (!told_.exchange(true)) closed_();
}

void InProcess::end(const std::string& why) {
  shut(why);
}

void InProcess::shut(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!open_) return;
  open_ = false;
  why_ = why;
  signal(wake_.get());
  arrived_.notify_all();
}

}  // namespace longship::agent
