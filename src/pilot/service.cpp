// SPDX-License-Identifier: Apache-2.0
#include "service.h"

#include <algorithm>

#include "base/error.h"
#include "formats/units.h"

namespace longship::pilot {

using std::chrono::seconds;

Service::Service(Setting setting) : setting_(std::move(setting)), idle_since_(setting_.now) {
  if (!setting_.deadline) return;
  const auto whole = std::chrono::duration_cast<seconds>(*setting_.deadline - setting_.now);
  const auto before = std::clamp(setting_.checkpoint_before, seconds(0), std::max(whole / 4, seconds(0)));
  checkpoint_at_ = *setting_.deadline - before;
  stop_at_ = *setting_.deadline - std::min(before / 3, latest_stop);
}

Actions Service::step(Instant now, const Input& input) {
  actions_.clear();
  if (!finished_) std::visit([&](const auto& what) { on(now, what); }, input);
  return std::move(actions_);
}

Instant Service::wake() const {
  Instant wake = last_beat_ + (metrics_moved_ ? beat_at_most : beat_every);
  const auto sooner = [&](const std::optional<Instant>& at) {
    if (at) wake = std::min(wake, *at);
  };
  if (running_ && !running_->asked) sooner(running_->checkpoint_at);
  if (running_ && !running_->stopping) sooner(running_->stop_at);
  if (!running_) sooner(stop_at_);
  if (hungry()) sooner(idle_since_ + setting_.idle_limit);
  return wake;
}

// --- what the agent says ---

void Service::on(Instant, const Told& input) {
  if (const auto* what = std::get_if<message::Take>(&input.message)) return take(*what);
  if (const auto* what = std::get_if<message::Stop>(&input.message)) return stop(*what);
  if (!leaving_) leaving_ = "it was told to leave";
}

void Service::take(const message::Take& take) {
  const auto& attempt = take.assignment.attempt;
  const auto [found, fresh] = known_.emplace(attempt.text(), Stage::waiting);
  if (fresh && (leaving_ || terminated_))
    return end(attempt, message::Outcome::lost, "given to a pilot that was about to leave");
  if (fresh) {
    waiting_.push_back(take.assignment);
  } else if (found->second == Stage::stopped_before) {
    end(attempt, message::Outcome::cancelled, "cancelled before it began");
  }
}

void Service::stop(const message::Stop& stop) {
  const auto [found, fresh] = known_.emplace(stop.attempt.text(), Stage::stopped_before);
  if (fresh) return;  // its Take may still come
  const std::string reason =
      stop.reason == message::StopReason::superseded ? "superseded by a newer attempt" : "cancelled";
  if (found->second == Stage::running &&
      running_)  // or it ran in a life before, and is about to be called lost
    return stop_running(message::Outcome::cancelled, reason);
  if (found->second != Stage::waiting) return;
  std::erase_if(waiting_, [&](const auto& assignment) { return assignment.attempt == stop.attempt; });
  end(stop.attempt, message::Outcome::cancelled, reason + " before it began");
}

void Service::on(Instant, const Deaf& input) {
  if (!leaving_) leaving_ = input.reason;
}

// --- a life before this one ---

void Service::on(Instant, const Remembered& input) {
  fresh_ = false;
  if (const auto* running = std::get_if<message::Running>(&input.message)) {
    known_.emplace(running->attempt.text(), Stage::running);
  } else if (const auto* ended = std::get_if<message::Ended>(&input.message)) {
    known_[ended->attempt.text()] = Stage::ended;
  } else if (std::holds_alternative<message::Left>(input.message)) {
    finished_ = true;  // nothing may follow
    actions_.emplace_back(Finish{});
  }
}

void Service::begin(Instant now) {
  began_ = true;
  last_beat_ = now;
  const auto left = setting_.deadline ? std::chrono::ceil<seconds>(*setting_.deadline - now) : seconds(0);
  actions_.emplace_back(Say{message::Began{setting_.nodes, std::max(left, seconds(0))}});
  std::vector<message::AttemptId> lost;
  for (const auto& [text, stage] : known_)
    if (stage == Stage::running) lost.push_back(message::AttemptId::parse(text));
  std::sort(lost.begin(), lost.end());
  for (const auto& attempt : lost)
    end(attempt, message::Outcome::lost, "its pilot was killed while it ran, and started again");
}

// --- time ---

void Service::on(Instant now, const TimePassed&) {
  if (!began_) begin(now);
  watch_times(now);
  if (!running_) start_next(now);
  leave_if_done(now);
  if (!finished_) beat(now);
}

void Service::watch_times(Instant now) {
  if (!running_ || running_->stopping) return;
  if (running_->checkpoint_at && now >= *running_->checkpoint_at) ask_for_checkpoint();
  if (running_->stop_at && now >= *running_->stop_at) stop_running(time_is_over(), running_->stop_reason);
}

// What a person or the batch system ends long before its time did not reach its walltime: it is lost.
message::Outcome Service::time_is_over() const {
  return terminated_ && too_early_ ? message::Outcome::lost : message::Outcome::timed_out;
}

void Service::ask_for_checkpoint() {
  if (std::exchange(running_->asked, true)) return;
  actions_.emplace_back(AskForCheckpoint{});
}

void Service::stop_running(message::Outcome as, std::string reason) {
  if (std::exchange(running_->stopping, true)) return;
  running_->stopped_as = as;
  running_->stop_reason = std::move(reason);
  actions_.emplace_back(StopRunning{});
}

void Service::beat(Instant now) {
  const auto since = now - last_beat_;
  if (since < beat_every && !(metrics_moved_ && since >= beat_at_most)) return;
  message::Beat beat;
  if (running_) {
    beat.running = {running_->attempt};
    beat.metrics = running_->metrics;
  }
  actions_.emplace_back(Say{std::move(beat)});
  last_beat_ = now;
  metrics_moved_ = false;
}

void Service::on(Instant, const Progress& input) {
  if (!running_) return;
  metrics_moved_ = metrics_moved_ || !(input.metrics == running_->metrics);
  running_->metrics = input.metrics;
}

// The first time there is patience for a checkpoint; who asks again has none.
void Service::on(Instant now, const Terminated&) {
  const std::string reason = "the batch system ended the allocation";
  const bool again = std::exchange(terminated_, true);
  if (!again)
    too_early_ = !setting_.deadline || *setting_.deadline - now > setting_.checkpoint_before + signal_margin;
  if (!leaving_) leaving_ = reason;
  drop_waiting(message::Outcome::lost, reason + " before it began");
  if (!running_ || running_->stopping) return;
  if (again || !running_->checkpoints) return stop_running(time_is_over(), reason);
  ask_for_checkpoint();
  const Instant patience = now + after_sigterm;
  running_->stop_at = running_->stop_at ? std::min(*running_->stop_at, patience) : patience;
  running_->stop_reason = reason;
}

void Service::on(Instant, const CheckpointSeen&) {
  if (running_ && terminated_ && !running_->stopping) stop_running(time_is_over(), running_->stop_reason);
}

// --- attempts ---

void Service::start_next(Instant now) {
  while (!running_ && !waiting_.empty()) {
    auto assignment = std::move(waiting_.front());
    waiting_.pop_front();
    if (start(now, std::move(assignment))) fresh_ = false;
  }
}

bool Service::start(Instant now, message::Assignment assignment) {
  const auto attempt = assignment.attempt;
  std::shared_ptr<const job::Job> job;
  try {
    job = job_of(assignment.job);
  } catch (const Error& error) {
    end(attempt, message::Outcome::failed, error.what());
    return false;
  }
  if (const auto reason = misfit(now, *job)) {
    end(attempt, message::Outcome::lost, *reason);
    return false;
  }
  running_ = Now{};
  running_->attempt = attempt;
  running_->checkpoints = job->checkpoint.has_value();
  set_times(now, *job);
  known_[attempt.text()] = Stage::running;
  const auto nodes = std::max<std::size_t>(setting_.nodes.size(), 1);
  const int ranks =
      job->launch == job::Launch::single ? 1 : static_cast<int>(nodes) * job->needs.ranks_per_node;
  actions_.emplace_back(Say{message::Running{attempt, ranks, setting_.nodes}});
  actions_.emplace_back(Start{std::move(assignment), std::move(job)});
  return true;
}

std::optional<std::string> Service::misfit(Instant now, const job::Job& job) const {
  const auto nodes = std::max<std::size_t>(setting_.nodes.size(), 1);
  if (job.needs.nodes > static_cast<int>(nodes))
    return fmt::format("it needs {} nodes, and this allocation has {}", job.needs.nodes, nodes);
  if (!stop_at_) return {};
  const bool fits = now < *stop_at_ && (fresh_ || *setting_.deadline - now > job.needs.walltime);
  return fits ? std::nullopt : std::optional<std::string>("no time left in this allocation");
}

void Service::set_times(Instant now, const job::Job& job) {
  running_->checkpoint_at = checkpoint_at_;
  running_->stop_at = stop_at_;
  running_->stop_reason = "the allocation's walltime was over";
  const auto walltime = job.needs.walltime;
  if (walltime.count() == 0 || (stop_at_ && now + walltime >= *stop_at_)) return;
  const auto before = std::min(setting_.checkpoint_before, walltime / 4);
  running_->stop_at = now + walltime;
  running_->checkpoint_at = now + walltime - before;
  if (checkpoint_at_) running_->checkpoint_at = std::min(*running_->checkpoint_at, *checkpoint_at_);
  running_->stop_reason = fmt::format("its walltime of {} was over", formats::human_duration(walltime));
}

std::shared_ptr<const job::Job> Service::job_of(const std::string& text) {
  if (last_job_ && text == last_job_text_) return last_job_;
  auto job = std::make_shared<const job::Job>(job::from_json(text, "job"));
  last_job_text_ = text;
  return last_job_ = std::move(job);
}

void Service::on(Instant now, const Done& done) {
  if (!running_) return;
  message::Ended ended;
  ended.attempt = running_->attempt;
  ended.exit_code = done.exit_code;
  ended.reason = done.reason;
  ended.outputs = done.outputs;
  ended.duration = done.duration;
  ended.metrics = running_->metrics;
  const auto as = [&](message::Outcome outcome, std::string reason) {
    ended.outcome = outcome;
    ended.reason = std::move(reason);
  };
  if (done.how == Done::How::finished) {
    ended.outcome = message::Outcome::finished;
  } else if (running_->stopping && done.how != Done::How::failed) {
    as(running_->stopped_as, running_->stop_reason);
  } else if (terminated_) {  // whatever the ranks died of, it began with the batch system
    as(time_is_over(), running_->stop_reason);
  } else {
    ended.outcome = done.how == Done::How::failed ? message::Outcome::failed : message::Outcome::lost;
  }
  ended.checkpoint = done.checkpoint && ended.outcome != message::Outcome::finished;
  known_[ended.attempt.text()] = Stage::ended;
  actions_.emplace_back(Say{std::move(ended)});
  running_.reset();
  metrics_moved_ = false;
  idle_since_ = now;
}

void Service::end(const message::AttemptId& attempt, message::Outcome outcome, std::string reason) {
  known_[attempt.text()] = Stage::ended;
  message::Ended ended;
  ended.attempt = attempt;
  ended.outcome = outcome;
  ended.exit_code = outcome == message::Outcome::finished ? 0 : 1;
  ended.reason = std::move(reason);
  actions_.emplace_back(Say{std::move(ended)});
}

void Service::drop_waiting(message::Outcome outcome, const std::string& reason) {
  for (const auto& assignment : waiting_) end(assignment.attempt, outcome, reason);
  waiting_.clear();
}

// --- the end ---

void Service::leave_if_done(Instant now) {
  if (!hungry()) return;
  if (leaving_) return leave(*leaving_);
  if (stop_at_ && now >= *stop_at_) return leave("the allocation's walltime is over");
  if (now - idle_since_ >= setting_.idle_limit)
    leave(fmt::format("there was no work for {}", formats::human_duration(setting_.idle_limit)));
}

void Service::leave(std::string reason) {
  finished_ = true;
  actions_.emplace_back(Say{message::Left{std::move(reason)}});
  actions_.emplace_back(Finish{});
}

}  // namespace longship::pilot
