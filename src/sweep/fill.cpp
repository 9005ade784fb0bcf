// SPDX-License-Identifier: Apache-2.0
#include "fill.h"

#include "base/error.h"
#include "base/text.h"

namespace longship::sweep {
namespace {

bool is_name(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'))
      return false;
  return true;
}

std::string value_for(const StudyFile& file, std::string_view name, const Start& start) {
  if (name == "trial") return std::to_string(start.trial);
  if (name == "parent") return start.parent ? std::to_string(*start.parent) : std::string();
  if (const auto* value = start.values.find(name)) return plain_text(*value);
  const auto names = file.space.names();
  if (std::find(names.begin(), names.end(), name) == names.end())
    throw Error(Failure::usage, "{{{}}} stands in the command, but the study has no such parameter{}", name,
                suggestion(name, names));
  return {};
}

// What is in braces and could not be a name, such as JSON, stays as it is.
std::string filled(const StudyFile& file, std::string_view text, const Start& start) {
  std::string result;
  while (!text.empty()) {
    const auto open = text.find('{');
    result += text.substr(0, open);
    if (open == std::string_view::npos) break;
    text.remove_prefix(open);
    const auto close = text.find('}');
    if (text.starts_with("{{")) {
      result += '{';
      text.remove_prefix(2);
    } else if (close != std::string_view::npos && is_name(text.substr(1, close - 1))) {
      result += value_for(file, text.substr(1, close - 1), start);
      text.remove_prefix(close + 1);
    } else {
      result += '{';
      text.remove_prefix(1);
    }
  }
  return result;
}

// Each rank writes the same: aside and renamed, so that none reads half of it.
std::vector<std::string> writing_values(const std::string& path, std::vector<std::string> command) {
  constexpr const char* script =
      R"(printf '%s\n' "$LONGSHIP_VALUES" > "$0.$$" && mv "$0.$$" "$0" && exec "$@")";
  command.insert(command.begin(), {"sh", "-c", script, path});
  return command;
}

}  // namespace

Filled fill(const StudyFile& file, const std::vector<std::string>& command,
            const std::map<std::string, std::string>& environment, const Start& start) {
  Filled result;
  for (const auto& word : command) result.command.push_back(filled(file, word, start));
  for (const auto& [name, value] : environment) result.environment[name] = filled(file, value, start);
  result.environment["LONGSHIP_STUDY"] = file.name;
  result.environment["LONGSHIP_TRIAL"] = std::to_string(start.trial);
  if (start.parent) result.environment["LONGSHIP_PARENT"] = std::to_string(*start.parent);
  result.environment["LONGSHIP_VALUES"] = formats::dump_json(start.values);
  if (!file.values_file.empty()) result.command = writing_values(file.values_file, std::move(result.command));
  return result;
}

job::Job fill(const StudyFile& file, job::Job job, const Start& start) {
  auto [command, environment] = fill(file, job.command, job.environment, start);
  job.command = std::move(command);
  job.environment = std::move(environment);
  return job;
}

void check_placeholders(const StudyFile& file, const std::vector<std::string>& command,
                        const std::map<std::string, std::string>& environment) {
  (void)fill(file, command, environment, {});
}

}  // namespace longship::sweep
