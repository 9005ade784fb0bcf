// SPDX-License-Identifier: Apache-2.0
// What happens because time passes: silence, leases, backoffs.
#include <fmt/format.h>

#include "step.h"

namespace longship::hub {
namespace {

// Until when a lease at a silent site is kept.
Moment frozen_until(const State& state, const Site& site, const Job& job) {
  const auto& attempt = *job.newest();
  const auto walltime = state.spec_of(job).job.needs.walltime;
  const auto length = walltime.count() > 0 ? walltime : std::chrono::seconds(unknown_walltime);
  const auto begin = attempt.started != Moment{} ? attempt.started : site.since;
  return std::max(begin + length, site.since) + grace;
}

void expire_frozen(const Step& step, const Site& site) {
  std::vector<JobIndex> over;
  for (const auto& [index, live] : site.live)
    if (frozen_until(step.state, site, step.state.job(index)) <= step.now) over.push_back(index);
  for (const auto index : over)
    lose(step, index,
         fmt::format("site {} has been silent for longer than its walltime and {} minutes", site.record.name,
                     grace.count()));
}

// The agent is there: what its pilots do not speak of any more is gone.
void expire_unheard(const Step& step, Site& site) {
  std::vector<JobIndex> over;
  message::Carry again;
  for (auto& [index, live] : site.live) {
    const auto& job = step.state.job(index);
    const auto& attempt = *job.newest();
    if (attempt.state == AttemptState::running && step.now - live.heard > lease) over.push_back(index);
    if (attempt.state == AttemptState::sent && step.now - live.sent > carry_again_after &&
        again.assignments.size() < 64) {
      live.sent = step.now;
      again.assignments.push_back(assignment_of(step.state, job, attempt));
    }
  }
  if (!again.assignments.empty()) step.send(site.link, std::move(again));
  for (const auto index : over)
    lose(step, index, fmt::format("its pilot has not been heard of for {} seconds", lease.count()));
}

void tell_discards(const Step& step, SiteId id) {
  message::Discard discard;
  while (!step.state.site(id).discards.empty() && discard.attempts.size() < 1000) {
    const auto [index, number] = *step.state.site(id).discards.begin();
    discard.attempts.push_back({step.state.id_of(step.state.job(index)), number});
    step.state.edit(
        index, [&](Job& job) { job.attempts[static_cast<std::size_t>(number - 1)].discard = Discard::told; });
  }
  if (!discard.attempts.empty()) step.send(step.state.site(id).link, std::move(discard));
}

// The hub did not run for a while, or the clock was set: whatever it did not hear in that time tells nothing.
void forgive_deafness(const Step& step) {
  const auto gap = step.now - step.state.last_tick;
  if (gap >= Moment::duration::zero() && gap <= deaf_after) return;
  for (auto& site : step.state.sites()) {
    site.heard = step.now;
    for (auto& [index, live] : site.live) live.heard = live.sent = step.now;
  }
}

}  // namespace

void opened(const Step& step) {
  for (auto& site : step.state.sites()) {
    site.up = false;
    site.since = site.heard = step.now;
  }
  step.state.last_tick = step.now;
}

// To the hour: a transaction for each request would be much for little.
void note_use(const Step& step, const TokensUsed& used) {
  constexpr std::chrono::hours often_enough{1};
  auto& state = step.state;
  for (const auto& hash : used.hashes) {
    const auto found = state.tokens().find(hash);
    if (found == state.tokens().end() || step.now - found->second.used < often_enough) continue;
    TokenRecord token = found->second;
    token.used = step.now;
    state.put_token(std::move(token));
  }
}

void tick(const Step& step) {
  auto& state = step.state;
  forgive_deafness(step);
  state.last_tick = step.now;
  for (SiteId id = 0; id < state.sites().size(); ++id) {
    auto& site = state.site(id);
    if (site.up && step.now - site.heard > silent_after) {
      site.up = false;
      site.stirred = true;
      site.since = step.now;
    }
    if (!site.up) {
      expire_frozen(step, site);
    } else {
      expire_unheard(step, site);
      tell_discards(step, id);
    }
  }
  while (!state.delayed().empty() && state.delayed().begin()->first <= step.now)
    state.edit(state.delayed().begin()->second, [](Job& job) { job.not_before = {}; });
  expire_questions(step, 0);
}

}  // namespace longship::hub
