// SPDX-License-Identifier: Apache-2.0
// Where the trials of a study are carried out: processes on this machine, or jobs at a hub.
#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "engine.h"

namespace longship::sweep {

class Runner {
 public:
  virtual ~Runner() = default;
  // Starts it, or finds again what was started under its known name. How it is known from now on; empty: by
  // nothing that outlives us.
  virtual std::string start(const Start& start) = 0;
  // It will be heard that it ended, as cancelled unless it was faster. Harmless if it ended already.
  virtual void stop(study::TrialNumber trial) = 0;
  // What happened since the last time; waits at most that long for something.
  [[nodiscard]] virtual std::vector<Heard> listen(std::chrono::milliseconds patience) = 0;
};

// An engine and a runner, turn by turn. Whatever the runner throws, what was decided is done in the next
// turn: a hub may go away between two of a hundred trials.
class Loop {
 public:
  Loop(Engine& engine, Runner& runner) : engine_(engine), runner_(runner) {}

  // Does what is due, and tells the engine what was heard. `now` in seconds since 1970.
  void turn(const std::function<double()>& now, std::chrono::milliseconds patience);

 private:
  Engine& engine_;
  Runner& runner_;
  std::deque<Action> due_;
};

}  // namespace longship::sweep
