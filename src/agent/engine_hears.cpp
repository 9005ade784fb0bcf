// SPDX-License-Identifier: Apache-2.0
// What pilots and the batch system say.
#include "engine.h"

#include <fmt/core.h>

#include <algorithm>

#include "job/names.h"

namespace longship::agent {

using message::AttemptId;
using message::Outcome;

namespace {

// "digits" of "digits-7".
std::string name_of_job(const AttemptId& attempt) {
  return attempt.job.substr(0, attempt.job.rfind('-'));
}

// Whoever fetches them makes paths of these names.
std::optional<std::string> forbidden_output(const message::Ended& ended) {
  for (const auto& output : ended.outputs)
    if (auto complaint = job::output_complaint(output.name)) return complaint;
  return {};
}

}  // namespace

void Engine::take(const PilotSaid& said) {
  const auto found = pilots_.find(said.pilot);
  if (found == pilots_.end()) {
    ++ignored_;
    return;
  }
  auto& pilot = found->second;
  pilot.heard = now_;
  if (pilot.stage == Pilot::Stage::doubtful) is_known(said.pilot, pilot, {});
  std::visit([&](const auto& message) { hear(pilot, said.pilot, message); }, said.message);
}

// The attempt, if this pilot has it: a pilot's word about any other means nothing.
Engine::Attempt* Engine::held(const Pilot& pilot, const AttemptId& id) {
  return pilot.holds.contains(id) ? &attempts_.at(id) : nullptr;
}

void Engine::stray(Pilot& pilot, const std::string& name, const AttemptId& id) {
  constexpr int most_told = 5;  // whoever talks nonsense does not fill the log
  if (closed_.contains(id) || pilot.void_.contains(id)) return;
  ++ignored_;
  // After a restart it may have been its own once, and has been forgotten.
  const auto owner = attempts_.find(id);
  if ((owner == attempts_.end() && pilot.replayed) || ++pilot.strays > most_told) return;
  actions_.warnings.push_back(fmt::format("pilot {} spoke of {}, which {}: ignored", name, id.text(),
                                          owner == attempts_.end() ? "there is not here"
                                          : owner->second.pilot.empty()
                                              ? "no pilot has yet"
                                              : "pilot " + owner->second.pilot + " has"));
}

void Engine::hear(Pilot& pilot, const std::string&, const message::Began& began) {
  if (!std::exchange(pilot.began, true)) trouble_.erase(pilot.shape.queue);
  if (began.time_left.count() == 0) return;
  // How long ago an earlier agent's pilot said so is not known: nothing more is given to it.
  pilot.until = pilot.replayed ? now_ : now_ + began.time_left;
}

void Engine::hear(Pilot& pilot, const std::string& name, const message::Running& running) {
  auto* attempt = held(pilot, running.attempt);
  if (attempt == nullptr) return stray(pilot, name, running.attempt);
  pilot.began = attempt->running = true;
  heard_.try_emplace(running.attempt);
  if (attempt->told == Told::started) return;
  attempt->told = Told::started;
  say(message::Started{running.attempt, name, running.ranks, running.nodes});
}

void Engine::hear(Pilot& pilot, const std::string& name, const message::Beat& beat) {
  for (const auto& id : beat.running)
    if (const auto* attempt = held(pilot, id)) {
      auto& metrics = heard_[id];
      if (attempt->running && beat.running.size() == 1) metrics = beat.metrics;
    } else {
      stray(pilot, name, id);
    }
}

void Engine::hear(Pilot& pilot, const std::string& name, const message::Ended& ended) {
  auto* attempt = held(pilot, ended.attempt);
  if (attempt == nullptr) return stray(pilot, name, ended.attempt);
  if (ended.outcome == Outcome::lost && !attempt->running) {
    // It had no time left for it, or was about to leave: nothing happened to the attempt.
    pilot.holds.erase(ended.attempt);
    if (!std::exchange(pilot.leaving, true)) tell(name, message::Leave{});
    give_back(ended.attempt, *attempt, name, pilot, ended.reason);
    return;
  }
  if (const auto wrong = forbidden_output(ended)) {
    message::Ended refused = ended;
    refused.outcome = Outcome::failed;
    refused.reason = fmt::format("its pilot names an output that cannot be one: {}", *wrong);
    refused.outputs.clear();
    return end(ended.attempt, std::move(refused));
  }
  if (ended.outcome == Outcome::finished) {
    if (took_.size() > 10'000) took_.clear();
    const Duration took = std::max<Duration>(ended.duration, std::chrono::microseconds(500));
    const auto [mean, first] = took_.try_emplace(name_of_job(ended.attempt), took);
    if (!first) mean->second = (mean->second * 3 + took) / 4;
  }
  end(ended.attempt, ended);
}

void Engine::hear(Pilot& pilot, const std::string&, const message::Left& left) {
  if (!pilot.left) pilot.left = left.reason.empty() ? "it left" : left.reason;
}

// --- what the batch system says ---

void Engine::take(const BatchSaid& said) {
  batch_error_.clear();
  for (const auto& [name, report] : said.reports) {
    const auto found = pilots_.find(name);
    if (found == pilots_.end()) continue;
    auto& pilot = found->second;
    pilot.report = report;
    pilot.asked = now_;
    if (const auto words = said.last_words.find(name); words != said.last_words.end())
      pilot.last_words = words->second;
    if (report.state == batch::State::unknown) {
      if (!pilot.unknown) pilot.unknown = now_;
      continue;  // which proves nothing
    }
    pilot.unknown.reset();
    if (report.state != batch::State::ended) pilot.ended.reset();
    if (report.state == batch::State::ended && !pilot.ended) pilot.ended = now_;
    if (pilot.stage == Pilot::Stage::doubtful) is_known(name, pilot, report.id);
  }
}

void Engine::take(const BatchSilent& silent) {
  batch_error_ = silent.error;
}

void Engine::take(const SubmitDone& done) {
  const auto found = pilots_.find(done.pilot);
  if (found == pilots_.end() || found->second.stage == Pilot::Stage::submitted) return;
  if (const auto trouble = trouble_.find(found->second.shape.queue); trouble != trouble_.end())
    trouble->second.words.clear();  // but not the pause, before a pilot has begun
  is_known(done.pilot, found->second, done.batch_job);
}

void Engine::take(const SubmitFailed& failed) {
  const auto found = pilots_.find(failed.pilot);
  if (found == pilots_.end() || found->second.stage != Pilot::Stage::handing_in) return;
  found->second.stage = Pilot::Stage::doubtful;
  found->second.doubted = now_;
  trouble(found->second.shape.queue, failed.error);
}

void Engine::trouble(const std::string& queue, const std::string& words) {
  const auto& rules = options_.rules;
  auto& trouble = trouble_[queue];
  trouble.words = words;
  trouble.pause = std::min(std::max(trouble.pause * 2, rules.first_retry), rules.last_retry);
  trouble.until = now_ + trouble.pause;
}

void Engine::is_known(const std::string& name, Pilot& pilot, const std::string& batch_job) {
  pilot.stage = Pilot::Stage::submitted;
  pilot.doubted.reset();
  if (!batch_job.empty()) pilot.batch_job = batch_job;
  actions_.journal.push_back(Submitted{name, pilot.batch_job});
  for (const auto& id : pilot.holds) say_queued(id, attempts_.at(id));
}

}  // namespace longship::agent
