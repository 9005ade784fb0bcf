// SPDX-License-Identifier: Apache-2.0
// A step, and what all parts of the engine share. What it is told is in engine_replay.cpp, engine_hub.cpp and
// engine_hears.cpp; what follows from that in engine_pilots.cpp and engine_giving.cpp.
#include "engine.h"

#include <fmt/core.h>

#include <algorithm>

namespace longship::agent {

using message::AttemptId;
using message::Outcome;

Engine::Engine(EngineOptions options) : options_(std::move(options)) {}

Actions Engine::step(Instant now, std::span<const Input> inputs) {
  now_ = now;
  if (!begun_) begin();
  for (const auto& input : inputs) std::visit([this](const auto& one) { take(one); }, input);
  for (auto& [name, pilot] : pilots_) judge(name, pilot);
  give();
  for (auto at = pilots_.begin(); at != pilots_.end();) {
    const auto here = at++;  // it may go
    judge_idle(here->first, here->second);
    judge_end(here->first, here->second);
  }
  for (const auto& id : fresh_)
    if (const auto found = attempts_.find(id);
        found != attempts_.end() && found->second.told == Told::nothing) {
      say(message::Preparing{id});
      found->second.told = Told::preparing;
    }
  fresh_.clear();
  ++step_;
  return std::exchange(actions_, {});
}

// --- small things ---

void Engine::tell(const std::string& pilot, message::ToPilot message) {
  for (auto& told : actions_.tell)
    if (told.pilot == pilot) {
      told.messages.push_back(std::move(message));
      return;
    }
  actions_.tell.push_back({pilot, {std::move(message)}});
}

void Engine::say(message::Fact fact) {
  actions_.facts.push_back(std::move(fact));
  ++next_fact_;
}

void Engine::say_queued(const AttemptId& id, Attempt& attempt) {
  if (attempt.told >= Told::queued) return;
  attempt.told = Told::queued;
  say(message::Queued{id, attempt.pilot, pilots_.at(attempt.pilot).batch_job});
}

void Engine::end(const AttemptId& id, Outcome outcome, std::string reason) {
  message::Ended ended;
  ended.attempt = id;
  ended.outcome = outcome;
  ended.reason = std::move(reason);
  end(id, std::move(ended));
}

void Engine::end(const AttemptId& id, message::Ended ended) {
  const AttemptId copy = id;  // the caller's may be in a table
  if (!attempts_.contains(copy)) return;
  say(std::move(ended));
  close(copy);
}

// After the fact that says so.
void Engine::close(const AttemptId& id) {
  if (const auto found = attempts_.find(id); found != attempts_.end()) {
    const auto& attempt = found->second;
    if (const auto pilot = pilots_.find(attempt.pilot); pilot != pilots_.end()) {
      pilot->second.holds.erase(id);
      pilot->second.settled = step_;
    }
    if (attempt.ready != 0)
      if (const auto kind = ready_.find({attempt.shape, attempt.walltime}); kind != ready_.end())
        kind->second.erase(attempt.ready);
    for (const auto& digest : attempt.missing)
      if (const auto waiting = waiting_for_.find(digest); waiting != waiting_for_.end())
        waiting->second.erase(id);
    attempts_.erase(found);
  }
  heard_.erase(id);
  if (closed_.emplace(id, next_fact_ - 1).second) closed_order_.push_back(id);
}

std::vector<std::string> Engine::pilots() const {
  std::vector<std::string> names;
  for (const auto& [name, pilot] : pilots_) names.push_back(name);
  return names;
}

std::vector<AttemptId> Engine::attempts() const {
  std::vector<AttemptId> ids;
  for (const auto& [id, attempt] : attempts_) ids.push_back(id);
  return ids;
}

message::Alive Engine::alive() {
  constexpr std::size_t most = 1000;  // a frame has its limits
  message::Alive alive;
  for (auto at = heard_.begin(); at != heard_.end() && alive.heard.size() < most; at = heard_.erase(at))
    alive.heard.push_back({at->first, std::move(at->second)});
  if (!batch_error_.empty()) alive.condition = batch_error_;
  for (const auto& [queue, trouble] : trouble_)
    if (alive.condition.empty() && !trouble.words.empty())
      alive.condition = fmt::format("queue {}: {}", queue, trouble.words);
  for (const auto& [name, pilot] : pilots_) {
    if (pilot.began || alive.waiting.size() >= most) continue;
    for (const auto& id : pilot.holds)
      alive.waiting.push_back({id, pilot.report.reason, pilot.report.expected_start});
  }
  for (const auto& [kind, ready] : ready_)
    if (const auto trouble = trouble_.find(kind.first.queue); trouble != trouble_.end() && !ready.empty())
      alive.waiting.push_back({ready.begin()->second, trouble->second.words, 0});
  return alive;
}

}  // namespace longship::agent
