// SPDX-License-Identifier: Apache-2.0
// Attempts begin and end; what becomes of their job then.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "step.h"

namespace longship::hub {
namespace {

using message::AttemptId;
using message::StopReason;

void stop(const Step& step, const Job& job, const Attempt& attempt, StopReason reason) {
  step.send(step.state.site(attempt.site).link,
            message::StopAttempts{{step.state.id_of(job, attempt)}, reason});
}

Attempt& newest(Job& job) {
  return job.attempts.back();
}

// Directories of attempts that neither count nor tell anything: those that failed keep theirs for their logs.
void discard_losers(Job& job) {
  if (job.committed == 0) return;
  for (auto& attempt : job.attempts) {
    const bool loser = attempt.result == Result::lost || attempt.result == Result::cancelled;
    if (loser && attempt.gone && attempt.discard == Discard::no) attempt.discard = Discard::due;
  }
}

std::chrono::seconds backoff(int times) {
  return std::min(std::chrono::seconds(1 << std::clamp(times - 1, 0, 20)), longest_backoff);
}

void give_up(const Step& step, Job& job, const std::string& reason) {
  job.state = JobState::failed;
  job.reason = step.state.texts.id(reason);
  job.ended = step.now;
}

void wait_again(const Step& step, Job& job, const std::string& reason, std::chrono::seconds pause) {
  job.state = JobState::waiting;
  job.reason = step.state.texts.id(reason);
  if (pause.count() > 0) job.not_before = step.now + pause;
}

// Further than every attempt before it.
bool made_progress(const Job& job) {
  const auto step_of = [](const Attempt& attempt) { return attempt.last ? attempt.last->step : 0; };
  std::uint64_t before = 0;
  for (std::size_t at = 0; at + 1 < job.attempts.size(); ++at)
    before = std::max(before, step_of(job.attempts[at]));
  return step_of(job.attempts.back()) > before;
}

// The attempt that held the lease ended without a commit.
void try_again(const Step& step, Job& job, const job::Job& spec) {
  auto& attempt = newest(job);
  const auto& reason = step.state.texts[attempt.reason];
  const bool may_have_left_one =
      attempt.result == Result::lost && spec.checkpoint && attempt.started != Moment{};
  if (attempt.checkpoint || may_have_left_one) job.resume_at = attempt.site;
  if (attempt.result == Result::refused) return wait_again(step, job, reason, {});
  const bool cut_off = attempt.result == Result::timed_out || attempt.result == Result::lost;
  if (cut_off && attempt.checkpoint && made_progress(job))
    return wait_again(step, job,
                      fmt::format("attempt {} {} and left a checkpoint", attempt.number,
                                  attempt.result == Result::lost ? "was lost" : "reached its walltime"),
                      {});
  auto text = fmt::format("attempt {} {}{}{}", attempt.number,
                          attempt.result == Result::lost        ? "was lost"
                          : attempt.result == Result::timed_out ? "reached its walltime"
                                                                : "failed",
                          reason.empty() ? "" : ": ", reason);
  if (attempt.result == Result::lost) {
    if (++job.losses > most_losses)
      return give_up(step, job, fmt::format("{} attempts were lost, the last one: {}", job.losses, reason));
    return wait_again(step, job, text, backoff(job.losses));
  }
  if (++job.crashes > spec.retry.crashes) return give_up(step, job, text);
  wait_again(step, job, text, backoff(job.crashes));
}

void end_newest(const Step& step, Job& job, Result result, std::string_view reason) {
  auto& attempt = newest(job);
  attempt.state = AttemptState::ended;
  attempt.result = result;
  attempt.reason = step.state.texts.id(reason);
  attempt.ended = step.now;
}

Result result_of(message::Outcome outcome) {
  switch (outcome) {
    case message::Outcome::finished:
      return Result::finished;
    case message::Outcome::failed:
      return Result::failed;
    case message::Outcome::timed_out:
      return Result::timed_out;
    case message::Outcome::cancelled:  // by somebody else: we would not have waited for it
    case message::Outcome::lost:
      break;
  }
  return Result::lost;
}

void keep_details(Attempt& attempt, const message::Ended& ended) {
  attempt.gone = true;
  attempt.exit_code = ended.exit_code;
  attempt.checkpoint = ended.checkpoint;
  if (!ended.outputs.empty())
    attempt.outputs = std::make_shared<const std::vector<message::Output>>(ended.outputs);
  if (ended.metrics.step > 0 || !ended.metrics.values.empty())
    attempt.last = std::make_shared<const message::Metrics>(ended.metrics);
}

void commit(const Step& step, Job& job, Attempt& attempt) {
  if (&attempt != &newest(job) && job.active() != nullptr) {
    stop(step, job, newest(job), StopReason::superseded);
    end_newest(step, job, Result::cancelled, fmt::format("attempt {} finished first", attempt.number));
  }
  attempt.state = AttemptState::ended;
  attempt.result = Result::finished;
  attempt.ended = step.now;
  attempt.reason = 0;
  job.committed = static_cast<std::uint32_t>(attempt.number);
  job.state = JobState::finished;
  job.reason = 0;
  job.ended = step.now;
  job.not_before = {};
}

void fact_of(const Step& step, JobIndex index, int number, const message::Ended& ended) {
  auto& state = step.state;
  const auto at = static_cast<std::size_t>(number - 1);
  if (state.job(index).attempts[at].gone) return;
  const auto note = [&](std::string what) { state.note({step.now, index, number, none, std::move(what)}); };
  state.edit(index, [&](Job& job) {
    auto& attempt = job.attempts[at];
    const bool holds = job.active() == &attempt;
    keep_details(attempt, ended);
    if (ended.outcome == message::Outcome::finished && job.committed == 0 && !attempt.withdrawn) {
      if (!holds) note(fmt::format("attempt {} finished after all, and is the first to do so", number));
      commit(step, job, attempt);
    } else if (holds) {
      end_newest(step, job, result_of(ended.outcome), ended.reason);
      try_again(step, job, state.spec_of(job).job);
    } else if (ended.outcome == message::Outcome::finished) {
      note(attempt.withdrawn
               ? fmt::format("attempt {} finished after it was stopped: this does not count", number)
               : fmt::format("attempt {} finished too: this does not count", number));
    }
    discard_losers(job);
  });
}

// Facts about an attempt that goes on. What holds no lease any more is told to stop, once more.
template <class Change>
void while_active(const Step& step, JobIndex index, int number, Change&& change) {
  const auto& job = step.state.job(index);
  const auto& attempt = job.attempts[static_cast<std::size_t>(number - 1)];
  if (job.active() == &attempt)
    step.state.edit(index, [&](Job& row) { change(row, newest(row)); });
  else if (!attempt.gone)
    stop(step, job, attempt, attempt.withdrawn ? StopReason::cancelled : StopReason::superseded);
}

void fact_of(const Step& step, JobIndex index, int number, const message::Refused& refused) {
  while_active(step, index, number, [&](Job& job, Attempt& attempt) {
    attempt.gone = true;
    end_newest(step, job, Result::refused, refused.reason);
    try_again(step, job, step.state.spec_of(job).job);
  });
}

void fact_of(const Step& step, JobIndex index, int number, const message::Preparing&) {
  while_active(step, index, number, [&](Job&, Attempt& attempt) {
    if (attempt.state == AttemptState::sent) attempt.state = AttemptState::preparing;
  });
}

void fact_of(const Step& step, JobIndex index, int number, const message::Queued& queued) {
  while_active(step, index, number, [&](Job&, Attempt& attempt) {
    if (attempt.state == AttemptState::running) return;
    attempt.state = AttemptState::queued;
    attempt.pilot = step.state.texts.id(queued.pilot);
    attempt.batch_job = step.state.texts.id(queued.batch_job);
  });
}

void fact_of(const Step& step, JobIndex index, int number, const message::Started& started) {
  while_active(step, index, number, [&](Job& job, Attempt& attempt) {
    if (attempt.state == AttemptState::running) return;
    attempt.state = AttemptState::running;
    attempt.started = step.now;
    attempt.ranks = started.ranks;
    if (!started.pilot.empty()) attempt.pilot = step.state.texts.id(started.pilot);
    attempt.nodes = step.state.texts.id(join(started.nodes, " "));
    job.state = JobState::running;
    job.reason = 0;
  });
  const auto& job = step.state.job(index);
  if (const auto* active = job.active(); active != nullptr && active->number == number) {
    auto& live = step.state.site(active->site).live[index];
    live.heard = step.now;
    live.waits_for.clear();
    live.expected_start = {};
  }
}

void ignore(const Step& step, SiteId site, JobIndex job, const std::string& what) {
  auto& row = step.state.site(site);
  if (++row.ignored > 100) return;  // whoever talks nonsense does not fill the disk
  step.state.note({step.now, job, 0, site, what});
}

}  // namespace

message::Assignment assignment_of(const State& state, const Job& job, const Attempt& attempt) {
  const auto& kind = state.kind_of(job);
  return {.attempt = state.id_of(job, attempt),
          .job = state.spec_of(job).json,
          .owner = state.texts[kind.key.owner],
          .team = state.texts[kind.key.team],
          .queue = state.texts[attempt.queue],
          .code = {state.texts[kind.key.code], kind.key.code_size},
          .image = state.texts[attempt.image],
          .resume = attempt.resume};
}

void begin_attempt(const Step& step, JobIndex index, const Place& place) {
  step.state.edit(index, [&](Job& job) {
    auto& attempt = job.attempts.emplace_back();
    attempt.number = static_cast<int>(job.attempts.size());
    attempt.site = place.site;
    attempt.queue = place.queue;
    attempt.image = place.image;
    attempt.resume = job.resume_at == place.site;
    attempt.site_version = step.state.site(place.site).record.text_version;
    attempt.created = step.now;
    job.state = JobState::assigned;
    job.reason = 0;
  });
  auto& live = step.state.site(place.site).live[index];
  live.sent = live.heard = step.now;
}

void apply(const Step& step, SiteId site, const message::Fact& fact) {
  const auto& id = message::attempt_of(fact);
  const auto& name = step.state.site(site).record.name;
  const auto index = step.state.find_job(id.job);
  const bool known = index != none && id.number >= 1 &&
                     static_cast<std::size_t>(id.number) <= step.state.job(index).attempts.size();
  if (!known)
    return ignore(
        step, site, none,
        fmt::format("site {} spoke of {}, which there never was: ignored", name, printable(id.text())));
  const auto at = step.state.job(index).attempts[static_cast<std::size_t>(id.number - 1)].site;
  if (at != site)
    return ignore(step, site, index,
                  fmt::format("site {} spoke of {}, which is at site {}: ignored", name, id.text(),
                              step.state.site(at).record.name));
  std::visit([&](const auto& what) { fact_of(step, index, id.number, what); }, fact);
}

void lose(const Step& step, JobIndex index, std::string_view reason) {
  const auto& row = step.state.job(index);
  stop(step, row, *row.newest(), StopReason::superseded);
  step.state.edit(index, [&](Job& job) {
    end_newest(step, job, Result::lost, reason);
    try_again(step, job, step.state.spec_of(job).job);
  });
}

void withdraw(const Step& step, JobIndex index, JobState state, std::string_view reason) {
  const auto& row = step.state.job(index);
  const bool active = row.active() != nullptr;
  if (active) stop(step, row, *row.newest(), StopReason::cancelled);
  step.state.edit(index, [&](Job& job) {
    if (active) {
      newest(job).withdrawn = true;
      end_newest(step, job, Result::cancelled, reason);
    }
    if (state == JobState::cancelled)
      for (auto& attempt : job.attempts) attempt.withdrawn = attempt.withdrawn || !attempt.gone;
    job.state = state;
    job.reason = step.state.texts.id(reason);
    job.not_before = {};
    if (is_over(state)) job.ended = step.now;
  });
}

}  // namespace longship::hub
