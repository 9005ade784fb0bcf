// SPDX-License-Identifier: Apache-2.0
// A stream of frames within one process, for `longship up`: what is sent goes to a function, what is
// delivered is received. The other side is whoever holds both.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

#include "base/fd.h"
#include "net/frame_stream.h"

namespace longship::agent {

class InProcess final : public net::FrameStream {
 public:
  // `sent` is called from send(); `closed` once, from close() or the destructor. Both may call deliver().
  explicit InProcess(
      std::function<void(std::string)> sent, std::function<void()> closed = [] {});
  ~InProcess() override;

  // From any thread; after the end it goes nowhere.
  void deliver(std::string frame);
  void end(const std::string& why);  // the other side closes; `closed` is still told when this side does

  void send(std::string_view frame) override;
  [[nodiscard]] std::optional<std::string> receive(std::chrono::milliseconds timeout) override;
  [[nodiscard]] bool open() const override;
  void close() override;
  [[nodiscard]] int fd() const override { return wake_.get(); }
  [[nodiscard]] std::string ended_because() const override;

 private:
  void shut(const std::string& why);

  std::function<void(std::string)> sent_;
  std::function<void()> closed_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::string> frames_;
  bool open_ = true;
  std::atomic<bool> told_ = false;  // `closed` was called
  std::string why_;
  Fd wake_;  // an eventfd, readable while frames_ is not empty or it is closed
};

}  // namespace longship::agent
