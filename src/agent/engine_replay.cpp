// SPDX-License-Identifier: Apache-2.0
// What the engine knew before it was started again, from its journal, its outbox and the logs of its pilots.
#include "engine.h"

#include <algorithm>

namespace longship::agent {

void Engine::replay(const Entry& entry) {
  if (const auto* accepted = std::get_if<Accepted>(&entry)) {
    const auto& assignment = accepted->assignment;
    attempts_[assignment.attempt] =
        Attempt(assignment, job::from_json(assignment.job, assignment.attempt.text()));
  } else if (const auto* made = std::get_if<Made>(&entry)) {
    auto& pilot = pilots_[made->pilot];
    pilot.shape = made->shape;
    pilot.walltime = made->walltime;
    pilot.replayed = true;
  } else if (const auto* submitted = std::get_if<Submitted>(&entry)) {
    auto& pilot = pilots_[submitted->pilot];
    pilot.stage = Pilot::Stage::submitted;
    if (!submitted->batch_job.empty()) pilot.batch_job = submitted->batch_job;
  } else if (const auto* returned = std::get_if<Returned>(&entry)) {
    pilots_[returned->pilot].void_.insert(returned->attempt);
  } else if (const auto* abandoned = std::get_if<Abandoned>(&entry)) {
    pilots_[abandoned->pilot].abandoned = true;
  } else if (const auto* gone = std::get_if<Gone>(&entry)) {
    pilots_.erase(gone->pilot);
  }
}

void Engine::replay(std::uint64_t number, const message::Fact& fact) {
  next_fact_ = number + 1;
  const auto& id = message::attempt_of(fact);
  if (std::holds_alternative<message::Refused>(fact) || std::holds_alternative<message::Ended>(fact)) {
    attempts_.erase(id);
    if (closed_.emplace(id, number).second) closed_order_.push_back(id);
    return;
  }
  const auto found = attempts_.find(id);
  if (found == attempts_.end()) return;
  auto& told = found->second.told;
  if (std::holds_alternative<message::Preparing>(fact)) told = std::max(told, Told::preparing);
  if (std::holds_alternative<message::Queued>(fact)) told = std::max(told, Told::queued);
  if (std::holds_alternative<message::Started>(fact)) told = Told::started;
}

void Engine::replay(const std::string& name, const message::ToPilot& told) {
  const auto found = pilots_.find(name);
  if (found == pilots_.end()) return;
  auto& pilot = found->second;
  if (std::holds_alternative<message::Leave>(told)) {
    pilot.leaving = true;
  } else if (const auto* take = std::get_if<message::Take>(&told)) {
    const auto& id = take->assignment.attempt;
    if (pilot.abandoned) pilot.void_.insert(id);
    const auto attempt = attempts_.find(id);
    if (pilot.void_.contains(id) || attempt == attempts_.end()) return;
    if (!attempt->second.pilot.empty() && attempt->second.pilot != name) {
      ++ignored_;  // cannot be: Returned comes first
      return;
    }
    attempt->second.pilot = name;
    pilot.holds.insert(id);
  } else if (const auto* stop = std::get_if<message::Stop>(&told)) {
    if (auto* attempt = held(pilot, stop->attempt)) attempt->stop = stop->reason;
  }
}

void Engine::begin() {
  begun_ = true;
  if (outbox_is_new_) std::erase_if(attempts_, [](const auto& entry) { return entry.second.pilot.empty(); });
  for (auto& [id, attempt] : attempts_)
    if (attempt.pilot.empty()) {
      if (attempt.told == Told::nothing) fresh_.push_back(id);
      prepare(id, attempt);
    } else if (pilots_.at(attempt.pilot).stage == Pilot::Stage::submitted) {
      say_queued(id, attempt);
    }
  for (auto& [name, pilot] : pilots_) {
    if (pilot.abandoned && !pilot.leaving) abandon(name, pilot);
    if (pilot.stage == Pilot::Stage::doubtful) pilot.doubted = now_;
  }
}

}  // namespace longship::agent
