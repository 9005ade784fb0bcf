// SPDX-License-Identifier: Apache-2.0
// A site's batch system: hand in a pilot, ask how pilots are, take one back.
// Local and Slurm implement it; tests/batch/conformance.h holds each to this contract.
//
// The batch system's word is not the truth about a job: the pilot's own record is. What the batch system no
// longer knows is unknown, never ended.
//
// Failpoints: batch.local.requested, batch.local.forked, batch.local.cancelling, batch.slurm.submitted (the
// answer of an sbatch that succeeded is lost).
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"
#include "site/site.h"

namespace longship::batch {

enum class State { queued, running, ended, unknown };
[[nodiscard]] std::string_view name_of(State state);

struct Pilot {
  std::string
      name;  // unique, stored before submit(): a lost answer is found by it. [A-Za-z0-9._-], at most 64
  std::string queue;  // as in the site file
  int nodes = 1;
  std::chrono::seconds walltime{0};  // 0: the queue's own default
  std::vector<std::string> command;  // arguments, never a shell line

  // On each node.
  int cores = 0;             // 0: the whole node
  std::uint64_t memory = 0;  // bytes; 0: the queue's own default
  int gpus = 0;

  std::string account, qos;
  std::vector<std::string> setup;    // shell lines, run before the command in the same shell
  std::vector<std::string> options;  // words for the submit command
  std::filesystem::path output;      // of the batch script, both streams; empty: /dev/null
  std::filesystem::path directory;   // where it starts; empty: /
  Environment environment;           // added to what the agent has; LONGSHIP_HUB and _TOKEN never arrive
};

// A pilot for a queue, with the queue's account, qos, set-up lines and options.
[[nodiscard]] Pilot pilot_for(const site::Queue& queue);

struct Report {
  State state = State::unknown;       // what the batch system forgot is unknown, never ended
  std::string reason = {};            // its own words, for `longship why`
  std::string id = {};                // the batch system's own name for it; empty: not known
  std::int64_t expected_start = 0;    // seconds since 1970, of a queued one; 0: not known
  std::optional<int> exit_code = {};  // of an ended one, if known; 128 + signal
};
using Reports = std::map<std::string, Report>;

class BatchSystem {
 public:
  virtual ~BatchSystem() = default;
  // The batch system's own id. After an Error the pilot may exist all the same: report() before trying again.
  virtual std::string submit(const Pilot& pilot) = 0;
  // One query however many names; every name gets an entry. An Error if the batch system does not answer:
  // nothing is known then, and nothing has ended.
  [[nodiscard]] virtual Reports report(std::span<const std::string> names) = 0;
  // Asks for its end and does not wait. Harmless when it ended or never was.
  virtual void cancel(const std::string& name) = 0;
};

// The site's own; an Error where this Longship has none for it. What Local keeps is under SPOOL/local.
[[nodiscard]] std::unique_ptr<BatchSystem> open(const site::Site& site);

// An Error with a sentence if the pilot makes no sense.
void check(const Pilot& pilot);

}  // namespace longship::batch
