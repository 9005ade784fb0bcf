// SPDX-License-Identifier: Apache-2.0
// What agent and pilot write into each other's logs in the spool (spool.h). Any record may arrive twice,
// late, or after records of the other side that answer it.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "assignment.h"

namespace longship::message {

// --- from the agent ---

struct Take {  // one more attempt to carry out, after those taken before
  Assignment assignment;
  bool operator==(const Take&) const = default;
};
enum class StopReason { cancelled, superseded };
struct Stop {  // wherever it is: waiting, or running
  AttemptId attempt;
  StopReason reason = StopReason::cancelled;
  bool operator==(const Stop&) const = default;
};
struct Leave {
  bool operator==(const Leave&) const = default;
};  // take no more; end when what was taken is done

using ToPilot = std::variant<Take, Stop, Leave>;

// --- from the pilot ---

struct Metrics {  // what rank 0 reported last
  std::uint64_t step = 0, steps = 0;
  std::vector<std::pair<std::string, double>> values;
  bool operator==(const Metrics&) const = default;
};

struct Began {  // the allocation runs
  std::vector<std::string> nodes;
  std::chrono::seconds time_left{0};  // until the allocation's walltime; 0: no limit
  bool operator==(const Began&) const = default;
};
struct Running {  // from here on the attempt must not be started elsewhere in the same epoch
  AttemptId attempt;
  int ranks = 1;
  std::vector<std::string> nodes;
  bool operator==(const Running&) const = default;
};
struct Beat {  // at least every 10 seconds, and at most once a second when metrics move
  std::vector<AttemptId> running;
  Metrics metrics;  // of the attempt that is running; step 0 and no values: none yet
  bool operator==(const Beat&) const = default;
};

enum class Outcome {
  finished,   // the command ended with 0 and its outputs are kept: a commit
  failed,     // the job's own fault
  cancelled,  // because of a Stop
  timed_out,  // the walltime was over; a checkpoint was asked for before
  lost,       // nobody's fault: a node died, the pilot was killed, it could not start
};
[[nodiscard]] std::string_view name_of(Outcome outcome);

struct Output {
  std::string name;  // relative to the attempt's directory
  std::uint64_t size = 0;
  bool operator==(const Output&) const = default;
};
struct Ended {
  AttemptId attempt;
  Outcome outcome = Outcome::finished;
  int exit_code = 0;
  std::string reason;  // a sentence, unless it finished
  std::vector<Output> outputs;
  std::chrono::milliseconds duration{0};
  Metrics metrics;          // the last
  bool checkpoint = false;  // one was left, so that another attempt can go on from it
  bool operator==(const Ended&) const = default;
};
struct Left {  // the pilot ends by itself; nothing follows
  std::string reason;
  bool operator==(const Left&) const = default;
};

using FromPilot = std::variant<Began, Running, Beat, Ended, Left>;

// One JSON object; a list of them is one record's payload, so that many small tasks cost few writes.
[[nodiscard]] std::string encode(const std::vector<ToPilot>& messages);
[[nodiscard]] std::string encode(const std::vector<FromPilot>& messages);
[[nodiscard]] std::vector<ToPilot> decode_to_pilot(std::string_view payload);
[[nodiscard]] std::vector<FromPilot> decode_from_pilot(std::string_view payload);

}  // namespace longship::message
