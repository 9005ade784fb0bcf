// SPDX-License-Identifier: Apache-2.0
#include "warm_start.h"

#include <map>
#include <optional>

#include "base/error.h"
#include "prepare.h"

namespace longship::sweep {
namespace {

using study::Trial;
using study::TrialState;

// Its point in our numbers; nothing if one of its values does not fit, or a parameter is missing.
std::optional<study::Point> translated(const study::History& from, const Trial& trial, study::Study& study,
                                       const Space& space) {
  const auto values = values_of(from, trial);
  study::Point point;
  formats::Table so_far = space.fixed;
  for (const auto& parameter : space.parameters) {
    if (!exists(parameter, so_far)) continue;
    const auto* value = values.find(parameter.name);
    const auto number = value != nullptr ? number_of(parameter.domain, *value) : std::nullopt;
    if (!number) return {};
    so_far.set(parameter.name, *value);
    point.push_back({study.parameter(parameter.name, parameter.domain), *number});
  }
  return point;
}

// Which of the other's trials are here: its number -> ours.
std::map<std::string, study::TrialNumber> taken(const study::History& history) {
  std::map<std::string, study::TrialNumber> numbers;
  for (const auto& trial : history.trials())
    if (const auto* from = find_remark(trial.attributes, remark::taken_from)) numbers[*from] = trial.number;
  return numbers;
}

}  // namespace

std::size_t take_trials_from(const std::filesystem::path& directory, study::Study& study,
                             const StudyFile& file) {
  const auto other = study::Study::load(directory);
  if (!other) throw Error(Failure::usage, "begin: there is no study in {}", directory.string());
  if (other->history().maximise() != study.history().maximise())
    throw Error(Failure::usage, "begin: the study in {} has other objectives or directions",
                directory.string());
  const auto here = taken(study.history());
  std::size_t count = 0;
  for (const auto& trial : other->history().trials()) {
    if (trial.state != TrialState::complete) continue;
    const auto mark = std::to_string(trial.number);
    if (const auto known = here.find(mark); known != here.end()) {
      // Cut off in the middle the last time.
      if (!is_finished(study.history().trial(known->second).state))
        study.tell(known->second, trial.state, trial.values, trial.ended);
      continue;
    }
    auto point = translated(other->history(), trial, study, file.space);
    if (!point) continue;
    Trial copy;
    copy.state = trial.state;
    copy.point = std::move(*point);
    copy.values = trial.values;
    copy.reports = trial.reports;
    copy.constraints = trial.constraints;
    copy.attributes = {{true, remark::taken_from, mark}};
    copy.begun = trial.begun;
    copy.ended = trial.ended;
    study.add(std::move(copy));
    ++count;
  }
  return count;
}

}  // namespace longship::sweep
