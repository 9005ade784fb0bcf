// SPDX-License-Identifier: Apache-2.0
// What carries an attempt out while the pilot goes on talking: a process of its own, so that hours of
// staging, a full disk or a crash there never silence the pilot.
//
//   pilot ──(orders: checkpoint, stop)──▶ runner ──(metrics, how it went)──▶ pilot
//
// The kernel kills the runner with the pilot, and the ranks' keeper sees that and kills the ranks:
// launch/ranks.h.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <variant>

#include "base/fd.h"
#include "message/hub_messages.h"
#include "message/spool.h"
#include "pilot.h"
#include "service.h"

namespace longship::pilot {

// What all attempts of a pilot have in common.
struct Berth {
  message::Spool spool;
  std::filesystem::path image_store;
  Installation installation;
  launch::Engine engine = launch::Engine::own;
};

// Where an attempt is to be carried out, and its image; an Error if they do not fit.
[[nodiscard]] Ground ground_of(const Berth& berth, const Start& start);

using RunnerEvent = std::variant<Progress, Done>;

class Runner {
 public:
  Runner(const Berth& berth, const Start& start);  // forks: the caller must have one thread
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  ~Runner();  // kills what still runs

  [[nodiscard]] int fd() const { return socket_.get(); }
  // Nothing if it was a false alarm. After Done nothing follows.
  [[nodiscard]] std::optional<RunnerEvent> next();
  void ask_for_checkpoint() { order('c'); }
  void stop() { order('s'); }

 private:
  void order(char what);
  [[nodiscard]] Done died();
  [[nodiscard]] std::optional<RunnerEvent> understand(const std::string& frame);

  pid_t child_ = -1;
  Fd socket_;
  message::FrameSplitter frames_;
  std::string frame_;
};

// The same in this process, for the runner itself and for tests.
[[nodiscard]] Done carry_out_assignment(const Berth& berth, const Start& start, Watcher& watcher);

// Whether an attempt of the job left a checkpoint: a file NAME.json is written when one is complete.
[[nodiscard]] std::vector<std::string> checkpoints_in(const std::filesystem::path& directory);

}  // namespace longship::pilot
