// SPDX-License-Identifier: Apache-2.0
// An engine whose disk, batch system and hub are plain containers, for tests.
#pragma once
#include <fmt/core.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/engine.h"
#include "formats/digest.h"

namespace longship::agent {

using message::AttemptId;

inline message::Assignment assignment(const std::string& id, const std::string& walltime = {},
                                      int nodes = 1) {
  message::Assignment made;
  made.attempt = AttemptId::parse(id);
  job::Job job;
  job.name = made.attempt.job.substr(0, made.attempt.job.rfind('-'));
  job.command = {"true"};
  job.needs.nodes = nodes;
  if (!walltime.empty()) job.needs.walltime = std::chrono::seconds(std::stoi(walltime));
  made.job = job::to_json(job);
  made.owner = "ada";
  made.queue = "q";
  return made;
}

// What survives the agent.
struct Papers {
  std::vector<Entry> journal;
  std::vector<message::Fact> outbox;
  std::map<std::string, std::vector<message::ToPilot>> told;
};

struct World {
  Papers papers;
  Rules rules;
  std::set<std::string> blobs;                // that are here
  std::map<std::string, std::string> refuse;  // by job name
  int names = 0;
  Instant now{};
  std::unique_ptr<Engine> engine;
  Actions last;  // what the last step wanted

  World() {
    rules.queues["q"] = {2, std::chrono::hours(24)};
    restart();
  }

  // As after kill -9.
  void restart() {
    EngineOptions options;
    options.rules = rules;
    options.refusal = [this](const message::Assignment&, const job::Job& job) -> std::optional<std::string> {
      const auto found = refuse.find(job.name);
      return found == refuse.end() ? std::nullopt : std::optional(found->second);
    };
    options.has = [this](const WantedBlob& blob) { return blobs.contains(blob.digest); };
    options.new_pilot = [this] { return fmt::format("p{:012x}", ++names); };
    engine = std::make_unique<Engine>(std::move(options));
    for (const auto& payload : encode(papers.journal))
      for (const auto& entry : decode_entries(payload)) engine->replay(entry);
    for (std::size_t i = 0; i < papers.outbox.size(); ++i) engine->replay(i, papers.outbox[i]);
    for (const auto& pilot : engine->pilots())
      for (const auto& told : papers.told[pilot]) engine->replay(pilot, told);
  }

  // Writes what the step wants written.
  const Actions& step(const std::vector<Input>& inputs = {}) {
    last = engine->step(now, inputs);
    papers.journal.insert(papers.journal.end(), last.journal.begin(), last.journal.end());
    for (const auto& tell : last.tell) {
      auto& log = papers.told[tell.pilot];
      log.insert(log.end(), tell.messages.begin(), tell.messages.end());
    }
    papers.outbox.insert(papers.outbox.end(), last.facts.begin(), last.facts.end());
    return last;
  }
  const Actions& pass(Duration time, const std::vector<Input>& inputs = {}) {
    now += std::chrono::duration_cast<Instant::duration>(time);
    return step(inputs);
  }

  // Facts as words: "queued digits-1.1 p000000000001", "ended digits-1.1 lost: …".
  std::vector<std::string> facts() const {
    std::vector<std::string> words;
    for (const auto& fact : papers.outbox) words.push_back(in_words(fact));
    return words;
  }
  static std::string in_words(const message::Fact& fact) {
    const auto id = message::attempt_of(fact).text();
    if (const auto* refused = std::get_if<message::Refused>(&fact))
      return "refused " + id + ": " + refused->reason;
    if (std::holds_alternative<message::Preparing>(fact)) return "preparing " + id;
    if (const auto* queued = std::get_if<message::Queued>(&fact)) return "queued " + id + " " + queued->pilot;
    if (const auto* started = std::get_if<message::Started>(&fact))
      return "started " + id + " " + started->pilot;
    const auto& ended = std::get<message::Ended>(fact);
    return fmt::format("ended {} {}{}", id, message::name_of(ended.outcome),
                       ended.reason.empty() ? "" : ": " + ended.reason);
  }
  // What a pilot was told: "take digits-1.1", "stop digits-1.1", "leave".
  std::vector<std::string> told(const std::string& pilot) {
    std::vector<std::string> words;
    for (const auto& told : papers.told[pilot]) {
      if (const auto* take = std::get_if<message::Take>(&told))
        words.push_back("take " + take->assignment.attempt.text());
      if (const auto* stop = std::get_if<message::Stop>(&told))
        words.push_back("stop " + stop->attempt.text());
      if (std::holds_alternative<message::Leave>(told)) words.push_back("leave");
    }
    return words;
  }
};

inline message::Carry carry(std::vector<message::Assignment> assignments) {
  return {std::move(assignments)};
}
inline PilotSaid began(const std::string& pilot, std::chrono::seconds left = {}) {
  return {pilot, message::Began{{"n1"}, left}};
}
inline PilotSaid running(const std::string& pilot, const std::string& id) {
  return {pilot, message::Running{AttemptId::parse(id), 1, {"n1"}}};
}
inline PilotSaid ended(const std::string& pilot, const std::string& id,
                       message::Outcome outcome = message::Outcome::finished,
                       std::chrono::milliseconds took = std::chrono::hours(1)) {
  message::Ended message;
  message.attempt = AttemptId::parse(id);
  message.outcome = outcome;
  message.duration = took;
  return {pilot, message};
}
inline PilotSaid left(const std::string& pilot) {
  return {pilot, message::Left{"nothing to do"}};
}
inline BatchSaid reports(const std::map<std::string, batch::State>& states) {
  BatchSaid said;
  for (const auto& [pilot, state] : states) said.reports[pilot].state = state;
  return said;
}

}  // namespace longship::agent
