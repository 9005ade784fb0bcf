// SPDX-License-Identifier: Apache-2.0
#include "trial.h"

#include <algorithm>

namespace longship::study {

std::string_view name_of(TrialState state) {
  switch (state) {
    case TrialState::running:
      return "running";
    case TrialState::complete:
      return "complete";
    case TrialState::pruned:
      return "pruned";
    case TrialState::failed:
      return "failed";
    case TrialState::waiting:
      return "waiting";
  }
  return "unknown";
}

const Assigned* find(const Point& point, ParameterId parameter) {
  const auto found = std::find_if(point.begin(), point.end(),
                                  [&](const Assigned& assigned) { return assigned.parameter == parameter; });
  return found == point.end() ? nullptr : &*found;
}

double violation(const Trial& trial) {
  double sum = 0;
  for (const double constraint : trial.constraints) sum += std::max(0.0, constraint);
  return sum;
}

}  // namespace longship::study
