// SPDX-License-Identifier: Apache-2.0
// Ctrl-C, SIGTERM and SIGHUP as something to ask for instead of something that happens: whoever owns
// temporary directories and processes unwinds, and so leaves nothing behind.
#pragma once
#include <signal.h>

#include <optional>

#include "base/error.h"
#include "base/fd.h"

namespace longship::launch {

class Interrupted : public Error {
 public:
  explicit Interrupted(int signal);
  [[nodiscard]] int exit_code() const { return 128 + signal_; }

 private:
  int signal_;
};

// From here on the three signals wait until asked for; a closed pipe is an error instead of the end.
class Interruptions {
 public:
  Interruptions();
  Interruptions(const Interruptions&) = delete;
  Interruptions& operator=(const Interruptions&) = delete;
  ~Interruptions();

  [[nodiscard]] int fd() const { return fd_.get(); }  // readable if one came
  [[nodiscard]] std::optional<int> take();
  void check();  // throws Interrupted

 private:
  Fd fd_;
  sigset_t before_{};
  struct sigaction pipe_before_ {};
};

}  // namespace longship::launch
