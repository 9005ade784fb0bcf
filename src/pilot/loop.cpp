// SPDX-License-Identifier: Apache-2.0
#include "loop.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <thread>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/file.h"
#include "base/record_log.h"
#include "base/say.h"
#include "launch/signals.h"
#include "light.h"
#include "message/spool.h"
#include "runner.h"
#include "service.h"
#include "surroundings.h"
#include "voice.h"

namespace longship::pilot {
namespace fs = std::filesystem;
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

constexpr milliseconds light_look_every = 1000ms;  // at what a small task says that still runs
constexpr int pretended_at_once = 1000;

// One pilot at a time. The processes of one that was killed hold nothing for long; a file system without
// locks does not stop us.
Fd lock(const fs::path& directory) {
  Fd file = open_file(directory / "lock", O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  for (int tries = 0; ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; ++tries) {
    if (tries == 50) throw Error("another pilot is at work in {}", directory.string());
    std::this_thread::sleep_for(100ms);
  }
  return file;
}

message::Spool spool_of(const fs::path& directory, const message::PilotOrder& order) {
  message::Spool spool(directory.parent_path().parent_path());
  if (spool.pilot(order.pilot) != directory)
    throw Error("{} is not the directory of pilot {}: that would be {}", directory.string(), order.pilot,
                spool.pilot(order.pilot).string());
  return spool;
}

Setting setting_of(const message::PilotOrder& order) {
  const auto environment = current_environment();
  Setting setting;
  setting.now = Steady::now();
  setting.nodes = nodes_of(environment);
  if (const auto left = time_left(order.walltime, environment, std::chrono::system_clock::now()))
    setting.deadline = setting.now + *left;
  setting.checkpoint_before = order.checkpoint_before;
  setting.idle_limit = order.idle_limit;
  return setting;
}

class Loop {
 public:
  Loop(const PilotOptions& options, fs::path directory)
      : directory_(std::move(directory)),
        order_(message::read_order(directory_)),
        berth_{spool_of(directory_, order_), order_.image_store, options.installation,
               launch::engine_named(order_.engine, "engine")},
        pretend_(options.pretend),
        lock_(lock(directory_)),
        setting_(setting_of(order_)),
        service_(setting_),
        ear_(message::to_pilot(directory_)),
        voice_(message::from_pilot(directory_)) {
    remember();
  }

  void run() {
    look();
    while (!finished_ || !voice_.all_said()) {
      feed(TimePassed{});
      settle();
      if (!finished_ || !voice_.all_said()) turn();
    }
  }

 private:
  void remember();
  void feed(const Input& input);
  void act(const Action& action);
  void settle();
  void pretend();
  void begin(const Start& start);
  void turn();
  void take_signals();
  void hear_runner();
  void hear_light();
  void look_at_light();
  void end(Done done);
  void look();
  void look_for_checkpoints();
  [[nodiscard]] milliseconds patience() const;

  fs::path directory_;
  message::PilotOrder order_;
  Berth berth_;
  bool pretend_;
  Fd lock_;
  launch::Interruptions signals_;
  Setting setting_;
  Service service_;
  RecordLogReader ear_;
  bool deaf_ = false;
  Voice voice_;
  std::optional<Start> starting_;  // as soon as all is said
  std::optional<Runner> runner_;
  std::optional<Light> light_;
  bool light_runs_ = false, finished_ = false;
  Instant next_light_look_{}, next_look_{}, next_checkpoint_look_{};
  fs::path checkpoints_;                                        // of the attempt that runs
  std::optional<std::vector<std::string>> checkpoints_before_;  // when one was asked for
};

// What this pilot said in a life before this one; the working places of what ran then are not needed any
// more.
void Loop::remember() {
  RecordLogReader own(message::from_pilot(directory_));
  while (const auto record = own.next())
    for (const auto& message : message::decode_from_pilot(record->payload)) {
      if (const auto* running = std::get_if<message::Running>(&message))
        remove_abandoned_spool(berth_.spool.attempt(running->attempt));
      feed(Remembered{message});
    }
}

void Loop::feed(const Input& input) {
  for (const auto& action : service_.step(Steady::now(), input)) act(action);
}

void Loop::act(const Action& action) {
  if (const auto* say = std::get_if<Say>(&action)) {
    voice_.say(say->message);
  } else if (const auto* start = std::get_if<Start>(&action)) {
    starting_ = *start;
  } else if (std::holds_alternative<AskForCheckpoint>(action)) {
    checkpoints_before_ = checkpoints_in(checkpoints_);
    if (runner_) runner_->ask_for_checkpoint();
  } else if (std::holds_alternative<StopRunning>(action)) {
    if (runner_) runner_->stop();
    if (light_runs_) light_->stop();
    if (std::exchange(starting_, std::nullopt)) end({.how = Done::How::stopped, .exit_code = 1});
  } else if (std::holds_alternative<Finish>(action)) {
    finished_ = true;
  }
}

// Words first, then deeds.
void Loop::settle() {
  if (pretend_) pretend();
  if (!voice_.flush(Steady::now()) || !starting_) return;
  const Start start = std::move(*starting_);
  starting_.reset();
  begin(start);
}

void Loop::pretend() {
  for (int i = 0; i < pretended_at_once && starting_; ++i) {
    starting_.reset();
    end({});
    feed(TimePassed{});
  }
}

void Loop::begin(const Start& start) {
  checkpoints_ = berth_.spool.checkpoints(start.assignment.attempt.job);
  checkpoints_before_.reset();
  try {
    if (is_light(berth_, start)) {
      if (light_ && !light_->takes(start)) light_.reset();
      if (!light_) light_.emplace(berth_, directory_ / "work", setting_.nodes.at(0), start);
      light_->start(start);
      light_runs_ = true;
      next_light_look_ = Steady::now() + light_look_every;
    } else {
      runner_.emplace(berth_, start);
    }
  } catch (const Error& error) {
    light_.reset();
    end({.how = Done::How::lost, .exit_code = 1, .reason = error.what()});
  }
}

void Loop::end(Done done) {
  runner_.reset();
  light_runs_ = false;
  // The batch system signals its processes one after another. If a rank is the first to die of it, our own
  // signal is about to come, and the job did not fail.
  if (done.how == Done::How::failed && done.exit_code == 128 + SIGTERM) {
    pollfd polled{signals_.fd(), POLLIN, 0};
    ::poll(&polled, 1, 200);
    take_signals();
  }
  feed(done);
  if (service_.hungry()) look();
}

void Loop::turn() {
  const int at_work = runner_ ? runner_->fd() : light_runs_ ? light_->fd() : -1;
  pollfd polled[2] = {{signals_.fd(), POLLIN, 0}, {at_work, POLLIN, 0}};
  ::poll(polled, 2, static_cast<int>(patience().count()));
  if (polled[0].revents != 0) take_signals();
  if (polled[1].revents != 0) {
    if (runner_)
      hear_runner();
    else
      hear_light();
  }
  const auto now = Steady::now();
  if (now >= next_look_) look();
  if (checkpoints_before_ && now >= next_checkpoint_look_) look_for_checkpoints();
  if (light_runs_ && now >= next_light_look_) look_at_light();
}

milliseconds Loop::patience() const {
  Instant wake = std::min({service_.wake(), voice_.wake(), next_look_});
  if (checkpoints_before_) wake = std::min(wake, next_checkpoint_look_);
  if (light_runs_) wake = std::min(wake, next_light_look_);
  const auto left = std::chrono::ceil<milliseconds>(wake - Steady::now());
  return std::clamp(left, milliseconds(0), milliseconds(60'000));
}

void Loop::take_signals() {
  while (const auto number = signals_.take())
    if (*number != SIGHUP) feed(Terminated{});
}

void Loop::hear_runner() {
  while (runner_) {
    const auto event = runner_->next();
    if (!event) return;
    if (const auto* progress = std::get_if<Progress>(&*event))
      feed(*progress);
    else
      end(std::get<Done>(*event));
  }
}

void Loop::hear_light() {
  const auto done = light_->next();
  if (!done) return;
  if (const auto last = light_->progress()) feed(*last);
  if (done->how == Done::How::lost) light_.reset();
  end(*done);
}

void Loop::look_at_light() {
  next_light_look_ = Steady::now() + light_look_every;
  light_->show_output();
  if (const auto progress = light_->progress()) feed(*progress);
}

// All that the agent wrote since; what cannot be understood is left out, as a newer agent may say more.
void Loop::look() {
  next_look_ = Steady::now() + order_.look_every;
  if (deaf_ || finished_) return;
  bool heard = false;
  try {
    while (const auto record = ear_.next()) {
      heard = true;
      try {
        for (auto& message : message::decode_to_pilot(record->payload)) feed(Told{std::move(message)});
      } catch (const Error& error) {
        warn("record {} of the agent is left out: {}", record->number, error.what());
      }
    }
  } catch (const Error& error) {
    deaf_ = true;
    feed(Deaf{error.what()});
  }
  if (heard) failpoint("pilot.taken");
}

void Loop::look_for_checkpoints() {
  next_checkpoint_look_ = Steady::now() + 500ms;
  const auto now = checkpoints_in(checkpoints_);
  if (std::includes(checkpoints_before_->begin(), checkpoints_before_->end(), now.begin(), now.end())) return;
  checkpoints_before_.reset();
  feed(CheckpointSeen{});
}

}  // namespace

void serve(const PilotOptions& options) {
  const fs::path directory = fs::weakly_canonical(fs::absolute(options.directory));
  within("pilot " + directory.filename().string(), [&] { Loop(options, directory).run(); });
}

}  // namespace longship::pilot
