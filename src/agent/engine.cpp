// SPDX-License-Identifier: Apache-2.0
// Replay and inputs. What follows from them is in engine_pilots.cpp and engine_giving.cpp.
#include "engine.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "formats/digest.h"
#include "job/names.h"
#include "store/image.h"

namespace longship::agent {

using message::AttemptId;
using message::Outcome;

namespace {

// "digits" of "digits-7".
std::string name_of_job(const AttemptId& attempt) {
  return attempt.job.substr(0, attempt.job.rfind('-'));
}

bool is_valid(const AttemptId& attempt) {
  try {
    return AttemptId::parse(attempt.text()) == attempt;
  } catch (const Error&) {
    return false;
  }
}

// Whoever fetches them makes paths of these names.
std::optional<std::string> forbidden_output(const message::Ended& ended) {
  for (const auto& output : ended.outputs)
    if (auto complaint = job::output_complaint(output.name)) return complaint;
  return {};
}

// What has to be at the site. An Error if the hub's words for it make no sense.
std::vector<WantedBlob> blobs_of(const message::Assignment& assignment) {
  std::vector<WantedBlob> blobs;
  if (!assignment.code.digest.empty())
    blobs.push_back({WantedBlob::Kind::code, assignment.code.digest, assignment.code.size, {}});
  if (!assignment.image.empty()) {
    const auto image = store::image_from_json(formats::parse_json(assignment.image, "image"));
    blobs.push_back({WantedBlob::Kind::image, image.root, image.size, assignment.image});
  }
  for (const auto& blob : blobs)
    if (!formats::is_digest(blob.digest))
      throw Error("\"{}\" is no digest", printable(blob.digest.substr(0, 100)));
  return blobs;
}

}  // namespace

Engine::Engine(EngineOptions options) : options_(std::move(options)) {}

// --- replay ---

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

// --- a step ---

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

// --- what the hub says ---

void Engine::take(const message::Want& want) {
  for (const auto& assignment : want.assignments) {
    wanted_.insert(assignment.attempt);
    accept(assignment);
  }
  if (want.more) return;
  const auto wanted = std::exchange(wanted_, {});
  std::vector<AttemptId> others;
  for (const auto& [id, attempt] : attempts_)
    if (!wanted.contains(id)) others.push_back(id);
  for (const auto& id : others) stop(id, message::StopReason::superseded);
}

void Engine::take(const message::Carry& carry) {
  for (const auto& assignment : carry.assignments) accept(assignment);
}

void Engine::take(const message::StopAttempts& command) {
  for (const auto& id : command.attempts) stop(id, command.reason);
}

void Engine::take(const NewLink&) {
  wanted_.clear();
}

// The hub will not ask for these again; a few are remembered all the same.
void Engine::take(const message::Seen& seen) {
  while (closed_order_.size() > options_.rules.remembered) {
    const auto found = closed_.find(closed_order_.front());
    if (found != closed_.end() && found->second >= seen.seen) return;
    if (found != closed_.end()) closed_.erase(found);
    closed_order_.pop_front();
  }
}

void Engine::take(const message::Discard& discard) {
  for (const auto& id : discard.attempts)
    if (is_valid(id) && !attempts_.contains(id))
      actions_.discard.push_back(id);
    else
      ++ignored_;
}

void Engine::accept(const message::Assignment& assignment) {
  const auto& id = assignment.attempt;
  if (attempts_.contains(id) || closed_.contains(id)) return;
  if (!is_valid(id)) {
    ++ignored_;
    return;
  }
  try {
    const auto job = job::from_json(assignment.job, id.text());
    static_cast<void>(blobs_of(assignment));
    if (const auto reason = options_.refusal(assignment, job)) throw Error("{}", *reason);
    actions_.journal.push_back(Accepted{assignment});
    fresh_.push_back(id);
    prepare(id, attempts_.emplace(id, Attempt(assignment, job)).first->second);
  } catch (const Error& error) {
    say(message::Refused{id, error.what()});
    close(id);
  }
}

void Engine::prepare(const AttemptId& id, Attempt& attempt) {
  for (auto& blob : blobs_of(attempt.assignment)) {
    if (options_.has(blob)) continue;
    attempt.missing.insert(blob.digest);
    auto& waiting = waiting_for_[blob.digest];
    if (waiting.empty()) actions_.fetch.push_back(std::move(blob));
    waiting.insert(id);
  }
  if (attempt.missing.empty()) make_ready(id, attempt);
}

void Engine::make_ready(const AttemptId& id, Attempt& attempt) {
  attempt.ready = next_ready_++;
  ready_[{attempt.shape, attempt.walltime}].emplace(attempt.ready, id);
}

void Engine::stop(const AttemptId& id, message::StopReason reason) {
  const auto found = attempts_.find(id);
  if (found == attempts_.end()) return;
  auto& attempt = found->second;
  if (attempt.pilot.empty()) {
    end(id, Outcome::cancelled,
        reason == message::StopReason::cancelled ? "cancelled before a pilot had it"
                                                 : "superseded before a pilot had it");
    return;
  }
  if (attempt.stop) return;
  attempt.stop = reason;
  tell(attempt.pilot, message::Stop{id, reason});
}

// --- bytes ---

void Engine::take(const BlobHere& here) {
  const auto waiting = waiting_for_.extract(here.digest);
  if (waiting.empty()) return;
  for (const auto& id : waiting.mapped())
    if (const auto found = attempts_.find(id); found != attempts_.end()) {
      found->second.missing.erase(here.digest);
      if (found->second.missing.empty()) make_ready(id, found->second);
    }
}

void Engine::take(const BlobMissing& missing) {
  const auto waiting = waiting_for_.extract(missing.digest);
  if (waiting.empty()) return;
  for (const auto& id : waiting.mapped())
    end(id, Outcome::lost, fmt::format("what it needs could not be brought to the site: {}", missing.error));
}

// --- what pilots say ---

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
