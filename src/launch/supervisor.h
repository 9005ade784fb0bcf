// SPDX-License-Identifier: Apache-2.0
// The life of one node's ranks as a machine without processes: step(now, input) → actions.
//
//   running ──a rank fails, a signal, a word from above──▶ stopping ──grace over, second signal──▶ killing
//      └───────────────── all ended ─────────────────────────┴──────────── all ended ───────────────┴──▶ done
//
// Stopping sends SIGTERM to every rank that still runs, killing SIGKILL. The first failure is the one that
// counts: what the others do once they are told to stop is not a failure.
#pragma once
#include <chrono>
#include <optional>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/process.h"

namespace longship::launch {

struct RankEnded {
  int rank;  // counted on this node
  Ending ending;
};
struct SignalReceived {
  int number;  // SIGINT, SIGTERM, SIGHUP
};
struct StopRequested {};  // the launcher above wants this node to end: another node failed, or time is up
struct TimePassed {};
using Input = std::variant<RankEnded, SignalReceived, StopRequested, TimePassed>;

struct SendSignal {
  int rank;
  int number;
};
using Actions = std::vector<SendSignal>;

enum class Cause { finished, rank_failed, signal, stopped };

class Supervisor {
 public:
  Supervisor(int ranks, std::chrono::milliseconds grace);

  [[nodiscard]] Actions step(Instant now, const Input& input);
  [[nodiscard]] std::optional<Instant> wake() const;  // when TimePassed is wanted
  [[nodiscard]] bool done() const { return running_ == 0; }

  [[nodiscard]] Cause cause() const { return cause_; }
  [[nodiscard]] const std::optional<RankEnded>& failure() const { return failure_; }  // the first
  [[nodiscard]] int exit_code() const;  // the failing rank's; 128 + signal; 143 if stopped from above

 private:
  enum class Phase { running, stopping, killing };
  Actions on(Instant now, const RankEnded& input);
  Actions on(Instant now, const SignalReceived& input);
  Actions on(Instant now, const StopRequested& input);
  Actions on(Instant now, const TimePassed& input);
  Actions stop(Instant now, Cause cause);
  Actions kill();
  [[nodiscard]] Actions signal_all(int number) const;

  std::chrono::milliseconds grace_;
  std::vector<bool> alive_;
  int running_;
  Phase phase_ = Phase::running;
  Instant kill_at_{};
  Cause cause_ = Cause::finished;
  int signal_ = 0;
  std::optional<RankEnded> failure_;
};

}  // namespace longship::launch
