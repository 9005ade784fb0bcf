// SPDX-License-Identifier: Apache-2.0
// What the agent decided, written down before it is done, so that an agent that was killed goes on where it
// was.
//
// The journal is not all that is remembered. What was told to a pilot stands in that pilot's to_pilot, and
// how an attempt ended in the outbox: each decision is in one place, and that place is written first.
#pragma once
#include <chrono>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "message/assignment.h"
#include "shape.h"

namespace longship::agent {

struct Accepted {  // this site carries it out
  message::Assignment assignment;
};
struct Made {  // a pilot that is about to be handed in: from here on it may exist
  std::string pilot;
  Shape shape;
  std::chrono::seconds walltime{0};  // 0: no limit
};
struct Submitted {  // the batch system has it
  std::string pilot;
  std::string batch_job;
};
struct Returned {  // the pilot ended and is certain never to have begun it: another one may take it
  std::string pilot;
  message::AttemptId attempt;
};
struct Abandoned {  // the batch system never heard of the pilot; should it come up all the same, it finds
                    // Leave
  std::string pilot;
};
struct Gone {  // the pilot ended and everything it said was passed on
  std::string pilot;
};
using Entry = std::variant<Accepted, Made, Submitted, Returned, Abandoned, Gone>;

// Payloads of journal records; one can hold any number of entries.
[[nodiscard]] std::vector<std::string> encode(const std::vector<Entry>& entries);
[[nodiscard]] std::vector<Entry> decode_entries(std::string_view payload);

}  // namespace longship::agent
