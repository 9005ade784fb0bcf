// SPDX-License-Identifier: Apache-2.0
// What agents say, and who may say it.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "more.h"
#include "requests.h"
#include "step.h"

namespace longship::hub {
namespace {

constexpr std::size_t frame_budget = std::size_t{1} << 20;

// The agent is there (again): its attempts' leases begin anew, they were frozen.
void thaw(const Step& step, Site& site) {
  site.up = site.stirred = true;
  site.since = step.now;
  for (auto& [index, live] : site.live) live.heard = step.now;
  step.state.place_wanted = true;
}

void silence(const Step& step, Site& site) {
  site.link = 0;
  site.up = false;
  site.stirred = true;
  site.since = step.now;
}

bool may_speak_for(const State& state, const Caller& caller, std::string_view site) {
  return caller.site.empty() ? caller.user == state.owner : caller.site == site;
}

// A sentence, if this Hello is not to be answered with Welcome.
std::string objection(const Step& step, const Caller& caller, const message::Hello& hello) {
  const auto& state = step.state;
  if (hello.protocol != message::protocol)
    return fmt::format(
        "the agent speaks protocol {} (longship {}), the hub speaks {}: install the same version",
        hello.protocol, printable(hello.version), message::protocol);
  if (!is_plain_name(hello.site)) return fmt::format("\"{}\" cannot be a site's name", printable(hello.site));
  if (!may_speak_for(state, caller, hello.site))
    return fmt::format("this token is not for site {}: get one with longship site add {}", hello.site,
                       hello.site);
  const auto id = state.find_site(hello.site);
  if (id == none) return {};
  const auto& site = state.site(id);
  if (site.up && site.link != 0 && site.record.outbox != hello.outbox)
    return fmt::format("site {} has another agent, which is connected: end that one first", hello.site);
  return {};
}

void describe_site(const Step& step, SiteId id, const message::Hello& hello) {
  auto& state = step.state;
  const auto& known = state.site(id).record;
  if (known.text == hello.site_file && known.version == hello.version && known.description) return;
  auto description = std::make_shared<const site::Site>(
      site::parse(hello.site_file, fmt::format("site file of {}", hello.site)));
  auto& record = state.edit_site(id);
  record.text = hello.site_file;
  record.version = hello.version;
  record.text_version = version_of(record.text);
  record.description = std::move(description);
  ++state.world;
}

// A new outbox: the spool was lost, and with it what the agent does not name.
void follow_outbox(const Step& step, SiteId id, const message::Hello& hello,
                   const std::set<message::AttemptId>& has) {
  auto& state = step.state;
  const auto before = state.site(id).record.outbox;
  if (before == hello.outbox) return;
  auto& record = state.edit_site(id);
  record.outbox = hello.outbox;
  record.seen = 0;
  if (before.empty()) return;
  std::vector<JobIndex> gone;
  for (const auto& [index, live] : state.site(id).live) {
    const auto& job = state.job(index);
    if (job.newest()->state != AttemptState::sent && !has.contains(state.id_of(job, *job.newest())))
      gone.push_back(index);
  }
  for (const auto index : gone) lose(step, index, "the spool of its site was lost");
}

// All that the site is to have, in as many frames as it takes.
void want_all(const Step& step, SiteId id) {
  auto& site = step.state.site(id);
  message::Want want;
  std::size_t bytes = 0;
  for (auto& [index, live] : site.live) {
    const auto& job = step.state.job(index);
    live.sent = step.now;
    const auto& one = want.assignments.emplace_back(assignment_of(step.state, job, *job.newest()));
    bytes += 512 + 2 * (one.job.size() + one.image.size());
    if (bytes < frame_budget) continue;
    want.more = true;
    step.send(site.link, std::exchange(want, {}));
    bytes = 0;
  }
  step.send(site.link, std::move(want));
}

void said(const Step& step, LinkId link, const message::Hello& hello) {
  auto& state = step.state;
  const auto caller = state.links.at(link).caller;
  if (const auto why_not = objection(step, caller, hello); !why_not.empty())
    return goodbye(step, link, why_not);
  auto id = state.find_site(hello.site);
  try {
    if (id == none || state.site(id).record.removed) id = state.add_site(hello.site, step.now);
    describe_site(step, id, hello);
  } catch (const Error& error) {
    state.site(id).condition = error.what();
    return goodbye(step, link, error.what());
  }
  auto& site = state.site(id);
  if (site.link != 0 && site.link != link) {  // the same agent, through a new connection
    const auto old = site.link;
    link_down(step, old);
    goodbye(step, old, "the agent connected anew");
  }
  const std::set<message::AttemptId> has(hello.attempts.begin(), hello.attempts.end());
  state.links.at(link).site = id;
  site.link = link;
  site.ever = true;
  site.heard = step.now;
  follow_outbox(step, id, hello, has);
  thaw(step, site);
  step.send(link, message::Welcome{site.record.seen});
  want_all(step, id);
}

void said(const Step& step, LinkId link, const message::Facts& facts) {
  auto& state = step.state;
  const auto id = state.links.at(link).site;
  const auto seen = state.site(id).record.seen;
  if (facts.first > seen)
    return goodbye(step, link, fmt::format("facts {} to {} are missing", seen, facts.first - 1));
  const auto end = facts.first + facts.facts.size();
  for (auto number = seen; number < end; ++number) apply(step, id, facts.facts[number - facts.first]);
  if (end > seen) state.edit_site(id).seen = end;
  step.send(link, message::Seen{std::max(seen, end)});
}

// Its job, if the lease of that attempt is at this site.
JobIndex held_here(const State& state, const Site& site, const message::AttemptId& attempt) {
  const auto index = state.find_job(attempt.job);
  if (index == none) return none;
  const auto live = site.live.find(index);
  return live != site.live.end() && live->second.attempt == attempt.number ? index : none;
}

// An agent says so at once when it is welcome: until then the trouble it had is the last thing known.
void said(const Step& step, LinkId link, const message::Alive& alive) {
  auto& site = step.state.site(step.state.links.at(link).site);
  site.stirred = site.stirred || site.condition != alive.condition;
  site.condition = alive.condition;
  message::StopAttempts unwanted{{}, message::StopReason::superseded};
  for (const auto& heard : alive.heard) {
    const auto index = held_here(step.state, site, heard.attempt);
    if (index == none) {
      unwanted.attempts.push_back(heard.attempt);
      continue;
    }
    auto& live = site.live[index];
    live.heard = step.now;
    if (heard.metrics.step > 0 || !heard.metrics.values.empty()) {
      live.metrics = heard.metrics;
      step.state.stirred.insert(index);
    }
  }
  for (const auto& waiting : alive.waiting) {
    const auto index = held_here(step.state, site, waiting.attempt);
    if (index == none) continue;
    site.live[index].waits_for = waiting.reason;
    site.live[index].expected_start = Moment(std::chrono::seconds(waiting.expected_start));
  }
  if (!unwanted.attempts.empty()) step.send(link, std::move(unwanted));
}

void said(const Step&, LinkId, const message::Fetch&) {
  // hub.cpp answers it: bytes are none of the state's business.
}

void said(const Step& step, LinkId link, const message::Answer& answer) {
  answered(step, link, answer);
}

}  // namespace

void hear(const Step& step, const Heard& heard) {
  const auto found = step.state.links.find(heard.link);
  if (found == step.state.links.end()) return step.close(heard.link);  // it was closed meanwhile
  const bool hello = std::holds_alternative<message::Hello>(heard.message);
  if (hello == (found->second.site != none))
    return goodbye(step, heard.link, hello ? "Hello came twice" : "an agent has to say Hello first");
  if (!hello) {
    auto& site = step.state.site(found->second.site);
    site.heard = step.now;
    if (!site.up) thaw(step, site);
  }
  std::visit([&](const auto& message) { said(step, heard.link, message); }, heard.message);
}

void link_down(const Step& step, LinkId link) {
  const auto found = step.state.links.find(link);
  if (found == step.state.links.end()) return;
  const auto id = found->second.site;
  step.state.links.erase(found);
  expire_questions(step, link);
  if (id != none && step.state.site(id).link == link) silence(step, step.state.site(id));
}

void goodbye(const Step& step, LinkId link, std::string_view reason) {
  step.send(link, message::Goodbye{std::string(reason)});
  step.close(link);
  link_down(step, link);
}

}  // namespace longship::hub
