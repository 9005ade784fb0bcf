// SPDX-License-Identifier: Apache-2.0
// What a trial measured, from a file that it left: one JSON object in each line.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "study_file.h"

namespace longship::sweep {

// The value in the last line that has it; NaN and Infinity as Python's json writes them. Lines that are none
// are passed over: a killed script leaves half a line.
[[nodiscard]] std::optional<double> last_value(std::string_view lines, const std::string& metric);

// A trial's objectives, and why they are not all there.
struct Measured {
  std::vector<double> values;
  std::string problem;  // empty if all are there
};
// `reported`: the last values by their names. `file`: the content of one among the outputs; nothing if it is
// not there.
template <class File>
[[nodiscard]] Measured measured(const std::vector<Objective>& objectives,
                                const std::map<std::string, double>& reported, File file) {
  Measured result;
  for (const auto& [metric, maximise, name] : objectives) {
    std::optional<double> value;
    if (!name.empty()) {
      const std::optional<std::string> content = file(name);
      if (content) value = last_value(*content, metric);
      if (!value)
        result.problem = content ? "no line of " + name + " has \"" + metric + "\""
                                 : "it left no " + name + ": is it among the outputs that the job keeps?";
    } else if (const auto found = reported.find(metric); found != reported.end()) {
      value = found->second;
    } else {
      result.problem = "it never reported \"" + metric + "\"";
    }
    if (!value) return result;
    result.values.push_back(*value);
  }
  return result;
}

}  // namespace longship::sweep
