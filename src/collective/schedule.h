// SPDX-License-Identifier: Apache-2.0
// A collective operation as a machine that never blocks: step() goes on as far as messages allow.
//
// Written as coroutines, so that each schedule reads like the algorithm in its paper; wherever it needs a
// message that is not there yet it gives the thread back:
//
//   while (!received.done) co_await pause;
#pragma once
#include <coroutine>
#include <exception>
#include <utility>

namespace longship::collective {

inline constexpr std::suspend_always pause{};

class Schedule {
 public:
  struct promise_type {
    Schedule get_return_object() {
      return Schedule(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { error = std::current_exception(); }
    std::exception_ptr error;
  };

  Schedule() = default;
  Schedule(Schedule&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Schedule& operator=(Schedule&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Schedule() {
    if (handle_) handle_.destroy();
  }

  // True once all is done. What the schedule throws leaves here.
  [[nodiscard]] bool step() {
    if (!handle_.done()) handle_.resume();
    if (handle_.promise().error) std::rethrow_exception(handle_.promise().error);
    return handle_.done();
  }

 private:
  explicit Schedule(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

}  // namespace longship::collective
