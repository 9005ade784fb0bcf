// SPDX-License-Identifier: Apache-2.0
// poll(2) with what is to be done beside each descriptor.
#pragma once
#include <poll.h>

#include <chrono>
#include <functional>
#include <vector>

#include "output.h"
#include "signals.h"

namespace longship::launch {

class Poll {
 public:
  void add(int fd, short events, std::function<void()> then);  // -1: left out
  void wait(std::chrono::milliseconds patience);               // for the first; deals with all that are ready

 private:
  std::vector<pollfd> polled_;
  std::vector<std::function<void()>> then_;
};

// A sink's outlets are written to when they can take something.
void add_outlets(Poll& poll, Sink& sink);
[[nodiscard]] bool is_full(Sink& sink);
// All that waits, unless nobody reads it and the user wants to go.
void flush(Sink& sink, Interruptions& interruptions);

}  // namespace longship::launch
