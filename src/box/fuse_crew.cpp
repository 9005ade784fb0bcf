// SPDX-License-Identifier: Apache-2.0
#include "fuse_crew.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

#include "base/turns.h"
#include "libfuse.h"

namespace longship::box {
namespace {

constexpr std::chrono::milliseconds patience{1000};

// To be woken takes longer than most answers do, and requests come in rows: a program that starts asks sixty
// times, each time when it has the answer. So whoever waits for them looks again for a moment before it
// sleeps, and gives way to anybody who wants the core. Half a second in a mount's life is enough for that.
class Alertness {
  using Clock = std::chrono::steady_clock;

 public:
  Alertness()
      : left_(std::thread::hardware_concurrency() > 1 ? std::chrono::milliseconds(500) : Clock::duration(0)) {
  }

  void answered() {
    if (left_ > Clock::duration(0)) answered_ = looked_ = Clock::now();
  }

  // True: it is not yet time to sleep.
  bool look_again() {
    if (left_ <= Clock::duration(0)) return false;
    const auto now = Clock::now();
    if (now - answered_ > moment) return false;
    left_ -= now - looked_;
    looked_ = now;
    ::sched_yield();
    return true;
  }

 private:
  static constexpr std::chrono::microseconds moment{200};
  Clock::duration left_;
  Clock::time_point answered_, looked_;
};

class Crew {
 public:
  Crew(fuse_session* session, const CrewLife& life)
      : session_(session), device_(fuse_session_fd(session)), life_(life) {
    ::fcntl(device_, F_SETFL, ::fcntl(device_, F_GETFL) | O_NONBLOCK);
  }

  void lead() {
    take_short_turns();  // an answer takes microseconds, and a program waits for it
    fuse_buf buffer = {};
    for (bool rested = true;;) {
      const int size = fuse_session_receive_buf(session_, &buffer);
      if (size == -EAGAIN) {
        if (!life_.cores_are_needed() && alertness_.look_again()) continue;
        pollfd polled{device_, POLLIN, 0};
        if (::poll(&polled, 1, rested ? -1 : static_cast<int>(patience.count())) == 0) rest(buffer);
        rested = polled.revents == 0;
      } else if (size != -EINTR) {
        if (!answer(buffer, size)) break;
        alertness_.answered();
      }
    }
    std::free(buffer.mem);
    over_ = true;
    const std::scoped_lock no_more_are_hired(hiring_);
    called_.release(static_cast<std::ptrdiff_t>(helpers_.size()));
  }  // the helpers are waited for by their destructors

 private:
  // False when the mount is gone.
  bool answer(fuse_buf& buffer, int size) {
    if (size <= 0 || fuse_session_exited(session_) != 0) return false;
    pollfd polled{device_, POLLIN, 0};
    if (::poll(&polled, 1, 0) > 0) call_help();
    fuse_session_process_buf(session_, &buffer);
    return true;
  }

  void call_help() {
    if (int idle = idle_.load(); idle > 0 && idle_.compare_exchange_strong(idle, idle - 1)) {
      called_.release();
      return;
    }
    const std::unique_lock lock(hiring_, std::try_to_lock);
    const auto most = std::clamp(std::thread::hardware_concurrency(), 1U, 4U) - 1;
    if (lock && helpers_.size() < most && !over_) helpers_.emplace_back([this] { help(); });
  }

  void rest(fuse_buf& buffer) const {
    std::free(std::exchange(buffer.mem, nullptr));  // libfuse makes another
    life_.rest();
  }

  void help() {
    fuse_buf buffer = {};
    while (!over_) {
      const int size = fuse_session_receive_buf(session_, &buffer);
      if (size == -EINTR) continue;
      if (size == -EAGAIN) {
        ++idle_;
        if (called_.try_acquire_for(patience)) continue;
        rest(buffer);
        called_.acquire();
      } else if (!answer(buffer, size)) {
        break;
      }
    }
    std::free(buffer.mem);
  }

  fuse_session* session_;
  int device_;
  const CrewLife& life_;
  Alertness alertness_;  // the leader's
  std::atomic<bool> over_ = false;
  std::atomic<int> idle_ = 0;
  std::counting_semaphore<> called_{0};
  std::mutex hiring_;
  std::vector<std::jthread> helpers_;
};

}  // namespace

void answer_by_crew(fuse_session* session, const CrewLife& life) {
  Crew(session, life).lead();
}

}  // namespace longship::box
