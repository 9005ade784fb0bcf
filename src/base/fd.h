// SPDX-License-Identifier: Apache-2.0
// A file descriptor with an owner.
#pragma once
#include <initializer_list>
#include <utility>

namespace longship {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int number) : number_(number) {}
  Fd(Fd&& other) noexcept : number_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~Fd() { reset(); }

  [[nodiscard]] int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(number_, -1); }
  void reset(int number = -1);  // close is never retried: after EINTR the number may be somebody else's

 private:
  int number_ = -1;
};

struct Pipe {
  Fd read, write;
};
[[nodiscard]] Pipe make_pipe();  // close-on-exec at both ends

// For a process that goes on in the background: 0, 1 and 2 become /dev/null, and everything that is not in
// `kept` is closed, so that nobody waits for the end of a pipe because of it.
void keep_only(std::initializer_list<int> kept);

}  // namespace longship
