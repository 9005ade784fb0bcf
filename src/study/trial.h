// SPDX-License-Identifier: Apache-2.0
// One try: the values its parameters were given, what came of it, and what was noted about it.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace longship::study {

using ParameterId = std::uint32_t;  // of a History
using TrialNumber = std::uint64_t;

enum class TrialState : std::uint8_t { running = 0, complete = 1, pruned = 2, failed = 3, waiting = 4 };

[[nodiscard]] constexpr bool is_finished(TrialState state) {
  return state == TrialState::complete || state == TrialState::pruned || state == TrialState::failed;
}

[[nodiscard]] std::string_view name_of(TrialState state);

struct Assigned {
  ParameterId parameter = 0;
  double value = 0;

  bool operator==(const Assigned&) const = default;
};
using Point = std::vector<Assigned>;

[[nodiscard]] const Assigned* find(const Point& point, ParameterId parameter);

struct Attribute {
  bool system = false;  // noted by the software, not by its user
  std::string key;
  std::string json;

  bool operator==(const Attribute&) const = default;
};

struct Trial {
  TrialNumber number = 0;
  TrialState state = TrialState::running;
  Point point;    // what the objective has been given
  Point planned;  // what the sampler chose for all of it at once, given or not yet
  std::map<std::string, std::string> wishes;  // from who enqueued it: parameter -> value in JSON
  std::vector<double> values;                 // one for each objective, when it is complete
  std::map<std::int64_t, double> reports;     // step -> value, on the way
  std::vector<double> constraints;            // above 0: violated
  std::vector<Attribute> attributes;
  std::int64_t generation = -1;  // of the sampler's population, if it has one
  double begun = 0, ended = 0;   // seconds since 1970; 0: not yet

  bool operator==(const Trial&) const = default;
};

[[nodiscard]] double violation(const Trial& trial);  // the sum of what is above 0

}  // namespace longship::study
