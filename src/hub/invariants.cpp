// SPDX-License-Identifier: Apache-2.0
#include "invariants.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace longship::hub {
namespace {

using Complaints = std::vector<std::string>;

void check_attempts(const State& state, const Job& job, Complaints& wrong) {
  const auto id = state.id_of(job);
  for (std::size_t at = 0; at < job.attempts.size(); ++at) {
    const auto& attempt = job.attempts[at];
    const bool ended = attempt.state == AttemptState::ended;
    const bool newest = at + 1 == job.attempts.size();
    if (attempt.number != static_cast<int>(at) + 1)
      wrong.push_back(fmt::format("{}: epochs do not grow", id));
    if (ended != (attempt.result != Result::open))
      wrong.push_back(fmt::format("{}.{}: ended without a result", id, at + 1));
    if (!ended && !newest) wrong.push_back(fmt::format("{}.{}: two attempts hold the lease", id, at + 1));
    if (!ended && attempt.gone) wrong.push_back(fmt::format("{}.{}: gone, but holds the lease", id, at + 1));
    if (attempt.result == Result::finished && job.committed != at + 1)
      wrong.push_back(fmt::format("{}.{}: finished, but not committed", id, at + 1));
    if (attempt.state == AttemptState::running && attempt.started == Moment{})
      wrong.push_back(fmt::format("{}.{}: runs, but never started", id, at + 1));
  }
}

void check_job(const State& state, const Job& job, Complaints& wrong) {
  const auto id = state.id_of(job);
  const auto* newest = job.newest();
  const bool open = newest != nullptr && newest->state != AttemptState::ended;
  const bool running = open && newest->state == AttemptState::running;
  const auto expect = [&](bool holds, const char* what) {
    if (!holds) wrong.push_back(fmt::format("{} is {}: {}", id, name_of(job.state), what));
  };
  expect((job.state == JobState::finished) == (job.committed != 0),
         "a commit makes it finished, nothing else does");
  expect(job.committed <= job.attempts.size(), "the committed attempt is unknown");
  if (job.committed != 0 && job.committed <= job.attempts.size())
    expect(job.attempts[job.committed - 1].result == Result::finished,
           "the committed attempt did not finish");
  expect((job.state == JobState::running) == running, "so must be its newest attempt");
  expect((job.state == JobState::assigned) == (open && !running), "so must be its newest attempt");
  expect(is_over(job.state) == (job.ended != Moment{}), "its end must be known");
  expect(job.not_before == Moment{} || job.state == JobState::waiting, "only what waits has a backoff");
  check_attempts(state, job, wrong);
}

}  // namespace

std::vector<std::string> invariants(const State& state) {
  Complaints wrong;
  std::array<std::uint64_t, job_state_names.size()> counts{};
  std::map<std::pair<SiteId, TextId>, std::array<std::uint32_t, 3>> windows;
  std::size_t live = 0;
  for (JobIndex index = 0; index < state.jobs_.size(); ++index) {
    const auto& job = state.jobs_[index];
    ++counts[static_cast<std::size_t>(job.state)];
    check_job(state, job, wrong);
    if (state.find_job(state.id_of(job)) != index)
      wrong.push_back(fmt::format("{} is not found", state.id_of(job)));
    if (const auto* active = job.active()) {
      ++live;
      const bool small = state.kind_of(job).small;
      ++windows[{active->site, active->queue}][active->state == AttemptState::running ? 2 : small ? 0 : 1];
      const auto& lives = state.sites_[active->site].live;
      const auto found = lives.find(index);
      if (found == lives.end() || found->second.attempt != active->number)
        wrong.push_back(fmt::format("{} is not among the attempts of its site", state.id_of(job)));
    }
    if (job.state == JobState::waiting) {
      const auto& kind = state.kinds_[job.kind];
      const auto line = state.lines_.find(kind.key.owner);
      const bool listed = job.not_before != Moment{} ? state.delayed_.contains({job.not_before, index})
                          : state.has_own_wishes(job)
                              ? line != state.lines_.end() && line->second.candidates.contains({index, none})
                              : kind.listed <= index &&
                                    line->second.candidates.contains({kind.listed, job.kind}) &&
                                    (kind.again.contains(index) ||
                                     std::binary_search(kind.fresh.begin(), kind.fresh.end(), index));
      if (!listed) wrong.push_back(fmt::format("{} waits, but is in no line", state.id_of(job)));
    }
  }
  if (counts != state.counts_) wrong.push_back("the counts of states are wrong");
  for (SiteId id = 0; id < state.sites_.size(); ++id) {
    const auto& site = state.sites_[id];
    live -= site.live.size();
    for (const auto& [queue, window] : site.windows)
      if (windows[{id, queue}] != std::array{window.small, window.large, window.running})
        wrong.push_back(fmt::format("the counts of site {} are wrong", site.record.name));
  }
  if (live != 0) wrong.push_back("sites have attempts that are over");
  return wrong;
}

}  // namespace longship::hub
