// SPDX-License-Identifier: Apache-2.0
// The pilot of an allocation as a machine without processes and files: step(now, input) → actions.
//
//   Take ──▶ waiting ──(its turn, and it fits the time left)──▶ running ──▶ ended
//     └── Stop, Leave, no time left, SIGTERM ────────────────────────────────▶ ended
//
// Attempts run one after another, in the order in which they were given. What the rest of the world relies
// on:
// - Running is said before an attempt is started, and Ended once for every attempt that was taken.
// - Records may come twice, late, and in any order: an attempt that is known is not taken again, and a Stop
// holds
//   for an attempt that is yet to come.
// - A pilot that was killed and is started again in its old directory gets its own words back (Remembered).
// What
//   it had said to be Running is lost, never started again; what had not begun may begin.
// - After Left nothing follows.
//
// Time. The ranks are asked for a checkpoint some time before either walltime is over, the allocation's or
// the job's own, and stopped before the batch system would do it. The attempt a pilot was made for, its
// first, is started even if its walltime is not quite there any more: a new allocation would have no more.
#pragma once
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "job/job.h"
#include "message/pilot_messages.h"

namespace longship::pilot {

// How the attempt that was started went, as its runner saw it.
struct Done {
  enum class How { finished, failed, stopped, lost } how = How::finished;  // stopped: because we wanted it
  int exit_code = 0;
  std::string reason = {};
  std::vector<message::Output> outputs = {};
  std::chrono::milliseconds duration{0};
  bool checkpoint = false;  // one is there
};

// --- inputs ---
struct Told {
  message::ToPilot message;
};
struct Remembered {  // of a life before this one
  message::FromPilot message;
};
struct Progress {
  message::Metrics metrics;
};
struct CheckpointSeen {};  // written since it was asked for
struct Terminated {};      // the batch system wants us to end, or a person does
struct Deaf {              // nothing more can be heard of the agent
  std::string reason;
};
struct TimePassed {};  // the only one at which attempts are started: all that is known has been told before
using Input = std::variant<Told, Remembered, Progress, CheckpointSeen, Terminated, Deaf, Done, TimePassed>;

// --- actions, to be done in this order ---
struct Say {
  message::FromPilot message;
};
struct Start {  // after all that was said is written
  message::Assignment assignment;
  std::shared_ptr<const job::Job> job;
};
struct AskForCheckpoint {};
struct StopRunning {};
struct Finish {};
using Action = std::variant<Say, Start, AskForCheckpoint, StopRunning, Finish>;
using Actions = std::vector<Action>;

struct Setting {
  std::vector<std::string> nodes = {};
  std::optional<Instant> deadline = {};  // the allocation's end
  Instant now{};
  std::chrono::seconds checkpoint_before{120};
  std::chrono::seconds idle_limit{60};
};

class Service {
 public:
  static constexpr std::chrono::seconds beat_every{8};      // when nothing moves
  static constexpr std::chrono::seconds beat_at_most{1};    // when metrics do
  static constexpr std::chrono::seconds after_sigterm{10};  // for a checkpoint, before the ranks are stopped
  static constexpr std::chrono::seconds latest_stop{20};    // before the allocation's end
  // Batch systems announce the end of the walltime that much earlier than asked to.
  static constexpr std::chrono::seconds signal_margin{120};

  explicit Service(Setting setting);

  [[nodiscard]] Actions step(Instant now, const Input& input);
  [[nodiscard]] Instant wake() const;  // when TimePassed is wanted at the latest

  [[nodiscard]] bool hungry() const { return !running_ && waiting_.empty() && !finished_; }
  [[nodiscard]] bool finished() const { return finished_; }

 private:
  enum class Stage { stopped_before, waiting, running, ended };
  struct Now {  // the attempt that runs
    message::AttemptId attempt;
    std::optional<Instant> checkpoint_at, stop_at;
    std::string stop_reason;   // if it is stopped at stop_at
    bool checkpoints = false;  // the job writes some
    bool asked = false, stopping = false;
    message::Outcome stopped_as = message::Outcome::timed_out;
    message::Metrics metrics;
  };

  void on(Instant now, const Told& input);
  void on(Instant now, const Remembered& input);
  void on(Instant now, const Progress& input);
  void on(Instant now, const CheckpointSeen& input);
  void on(Instant now, const Terminated& input);
  [[nodiscard]] message::Outcome time_is_over() const;
  void on(Instant now, const Deaf& input);
  void on(Instant now, const Done& input);
  void on(Instant now, const TimePassed& input);
  void take(const message::Take& take);
  void stop(const message::Stop& stop);

  void begin(Instant now);
  void start_next(Instant now);
  bool start(Instant now, message::Assignment assignment);
  [[nodiscard]] std::optional<std::string> misfit(Instant now, const job::Job& job) const;
  void set_times(Instant now, const job::Job& job);
  void watch_times(Instant now);
  void ask_for_checkpoint();
  void stop_running(message::Outcome as, std::string reason);
  void beat(Instant now);
  void leave_if_done(Instant now);
  void leave(std::string reason);
  void end(const message::AttemptId& attempt, message::Outcome outcome, std::string reason);
  void drop_waiting(message::Outcome outcome, const std::string& reason);
  [[nodiscard]] std::shared_ptr<const job::Job> job_of(const std::string& text);

  Setting setting_;
  std::optional<Instant> checkpoint_at_, stop_at_;  // of the allocation
  std::deque<message::Assignment> waiting_;
  std::unordered_map<std::string, Stage> known_;
  std::optional<Now> running_;
  bool began_ = false, fresh_ = true, terminated_ = false, finished_ = false;
  bool too_early_ = false;              // the batch system ended it long before its time
  std::optional<std::string> leaving_;  // why
  Instant last_beat_{}, idle_since_{};
  bool metrics_moved_ = false;
  std::string last_job_text_;  // many tasks are the same job
  std::shared_ptr<const job::Job> last_job_;
  Actions actions_;
};

}  // namespace longship::pilot
