// SPDX-License-Identifier: Apache-2.0
#include "worker.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/say.h"

namespace longship::agent {

Mailbox::Mailbox() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_) throw Error::from_errno(errno, "cannot make an eventfd");
}

void Mailbox::post(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  work_.push_back(std::move(work));
  const std::uint64_t one = 1;
  static_cast<void>(::write(wake_.get(), &one, sizeof one) == 0);
}

std::vector<std::function<void()>> Mailbox::take() {
  const std::lock_guard lock(mutex_);
  std::uint64_t count = 0;
  static_cast<void>(::read(wake_.get(), &count, sizeof count) == 0);
  return std::exchange(work_, {});
}

Worker::Worker() : thread_([this] { run(); }) {}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    more_.notify_all();
  }
  thread_.join();
}

void Worker::post(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  work_.push_back(std::move(work));
  more_.notify_one();
}

void Worker::run() {
  for (;;) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      more_.wait(lock, [&] { return ending_ || !work_.empty(); });
      if (ending_) return;
      work = std::move(work_.front());
      work_.pop_front();
    }
    try {
      work();
    } catch (const std::exception& error) {
      warn("{}", Error::of(error).what());
    }
  }
}

}  // namespace longship::agent
