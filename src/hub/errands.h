// SPDX-License-Identifier: Apache-2.0
// A thread for what takes a while and changes no state: reading blobs, adding images.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/say.h"

namespace longship::hub {

class Errands {
 public:
  Errands() : thread_([this] { work(); }) {}
  ~Errands() { stop(); }
  Errands(const Errands&) = delete;

  void run(std::function<void()> errand) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      errands_.push_back(std::move(errand));
    }
    wake_.notify_one();
  }
  void stop() {  // what is waiting is not done any more
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void work() {
    for (;;) {
      std::function<void()> errand;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return stopping_ || !errands_.empty(); });
        if (stopping_) return;
        errand = std::move(errands_.front());
        errands_.pop_front();
      }
      try {
        errand();
      } catch (const std::exception& error) {
        warn("{}", Error::of(error).what());
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> errands_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace longship::hub
