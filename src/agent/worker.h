// SPDX-License-Identifier: Apache-2.0
// A thread for what may take its time: a batch system that does not answer, a digest of gigabytes. And the
// way back: results arrive in the loop that waits for them.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace longship::agent {

// Where other threads leave work for the loop; fd() is readable while there is some.
class Mailbox {
 public:
  Mailbox();
  void post(std::function<void()> work);
  [[nodiscard]] std::vector<std::function<void()>> take();
  [[nodiscard]] int fd() const { return wake_.get(); }

 private:
  std::mutex mutex_;
  std::vector<std::function<void()>> work_;
  Fd wake_;
};

// One thread, one thing after another. What a piece of work throws is a warning.
class Worker {
 public:
  Worker();
  ~Worker();  // waits for what is being done, forgets the rest
  void post(std::function<void()> work);

 private:
  void run();
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<std::function<void()>> work_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace longship::agent
