// SPDX-License-Identifier: Apache-2.0
#include "metrics.h"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace longship::sweep {
namespace {

// JSON has no such numbers, Python writes them all the same.
std::optional<double> not_in_json(std::string_view line, const std::string& metric) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  constexpr std::array<std::pair<std::string_view, double>, 3> words = {
      {{"NaN", NAN}, {"Infinity", infinite}, {"-Infinity", -infinite}}};
  const auto key = line.find(formats::json_text(metric));
  if (key == std::string_view::npos) return {};
  auto rest = trim(line.substr(key + formats::json_text(metric).size()));
  if (!rest.starts_with(':')) return {};
  rest = trim(rest.substr(1));
  for (const auto& [word, value] : words)
    if (rest.starts_with(word)) return value;
  return {};
}

std::optional<double> value_in(std::string_view line, const std::string& metric) {
  if (!line.starts_with('{') || line.find(metric) == std::string_view::npos) return {};
  try {
    const auto object = formats::parse_json(line, "a line");
    const auto* value = object.find(metric);
    if (value == nullptr) return {};
    if (value->is(formats::Kind::null)) return NAN;
    if (!value->is(formats::Kind::number) && !value->is(formats::Kind::integer)) return {};
    return value->number();
  } catch (const Error&) {
    return not_in_json(line, metric);
  }
}

}  // namespace

std::optional<double> last_value(std::string_view text, const std::string& metric) {
  const auto lines = split(text, '\n');
  for (auto line = lines.rbegin(); line != lines.rend(); ++line)
    if (const auto value = value_in(trim(*line), metric)) return value;
  return {};
}

}  // namespace longship::sweep
