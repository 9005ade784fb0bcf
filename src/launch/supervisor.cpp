// SPDX-License-Identifier: Apache-2.0
#include "supervisor.h"

#include <csignal>

namespace longship::launch {

Supervisor::Supervisor(int ranks, std::chrono::milliseconds grace)
    : grace_(grace), alive_(static_cast<std::size_t>(ranks), true), running_(ranks) {}

Actions Supervisor::step(Instant now, const Input& input) {
  return std::visit([&](const auto& what) { return on(now, what); }, input);
}

std::optional<Instant> Supervisor::wake() const {
  if (phase_ == Phase::stopping && !done()) return kill_at_;
  return {};
}

int Supervisor::exit_code() const {
  switch (cause_) {
    case Cause::finished:
      return 0;
    case Cause::rank_failed:
      return failure_->ending.exit_code();
    case Cause::signal:
      return 128 + signal_;
    case Cause::stopped:
      return 128 + SIGTERM;
  }
  return 1;
}

Actions Supervisor::on(Instant now, const RankEnded& input) {
  auto alive = alive_.begin() + input.rank;
  if (!*alive) return {};
  *alive = false;
  --running_;
  if (input.ending.ok() || phase_ != Phase::running) return {};
  failure_ = input;
  return stop(now, Cause::rank_failed);
}

Actions Supervisor::on(Instant now, const SignalReceived& input) {
  if (phase_ != Phase::running) return kill();  // asked twice: no more patience
  signal_ = input.number;
  return stop(now, Cause::signal);
}

Actions Supervisor::on(Instant now, const StopRequested&) {
  return phase_ == Phase::running ? stop(now, Cause::stopped) : Actions{};
}

Actions Supervisor::on(Instant now, const TimePassed&) {
  return phase_ == Phase::stopping && now >= kill_at_ ? kill() : Actions{};
}

Actions Supervisor::stop(Instant now, Cause cause) {
  cause_ = cause;
  phase_ = Phase::stopping;
  kill_at_ = now + grace_;
  return signal_all(SIGTERM);
}

Actions Supervisor::kill() {
  phase_ = Phase::killing;
  return signal_all(SIGKILL);
}

Actions Supervisor::signal_all(int number) const {
  Actions actions;
  for (std::size_t rank = 0; rank < alive_.size(); ++rank)
    if (alive_[rank]) actions.push_back({static_cast<int>(rank), number});
  return actions;
}

}  // namespace longship::launch
