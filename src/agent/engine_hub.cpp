// SPDX-License-Identifier: Apache-2.0
// What the hub wants, and the bytes that it takes.
#include "engine.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/text.h"
#include "formats/digest.h"
#include "store/image.h"

namespace longship::agent {

using message::AttemptId;
using message::Outcome;

namespace {

bool is_valid(const AttemptId& attempt) {
  try {
    return AttemptId::parse(attempt.text()) == attempt;
  } catch (const Error&) {
    return false;
  }
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

}  // namespace longship::agent
