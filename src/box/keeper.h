// SPDX-License-Identifier: Apache-2.0
// The process behind a Meeting: it hands something to whoever comes, watches who is inside, and ends when the
// last of them has.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <functional>

#include "meeting.h"

namespace longship::box {

// Runs `work` in a process that is nobody's child, in a session of its own, which Ctrl-C at a terminal does
// not reach; is_keeper() knows it. Forks: the caller must have one thread.
void start_keeper(const std::function<void()>& work);

// What a process is that start_keeper() made; again, when it has become another program.
void be_keeper();

struct Hospitality {
  std::function<void(int peer)> give;   // to each that comes
  pid_t first = 0;                      // inside already
  std::chrono::milliseconds linger{0};  // how long it waits for the next one
  int stop = -1;                        // a descriptor: readable when there is nothing to give any more
  std::function<void()> later = {};     // once, when the first guest has been inside for a moment
};

// Returns when the name has been given up; who came in the last moment has been let in.
void keep_open(Meeting& meeting, const Hospitality& hospitality);

}  // namespace longship::box
