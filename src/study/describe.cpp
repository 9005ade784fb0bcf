// SPDX-License-Identifier: Apache-2.0
#include "describe.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace longship::study {
namespace {

void put(std::string& json, double number) {
  if (std::isnan(number))
    json += "NaN";
  else if (std::isinf(number))
    json += number < 0 ? "-Infinity" : "Infinity";
  else
    fmt::format_to(std::back_inserter(json), "{}", number);
}

void put_text(std::string& json, std::string_view text) {
  json += '"';
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      json += '\\';
      json += letter;
    } else if (code < 0x20) {
      fmt::format_to(std::back_inserter(json), "\\u{:04x}", code);
    } else {
      json += letter;
    }
  }
  json += '"';
}

template <class List, class Each>
void put_list(std::string& json, const List& list, Each each, char open = '[', char close = ']') {
  json += open;
  bool first = true;
  for (const auto& member : list) {
    if (!first) json += ',';
    first = false;
    each(member);
  }
  json += close;
}

void put_numbers(std::string& json, std::span<const double> numbers) {
  put_list(json, numbers, [&](double number) { put(json, number); });
}

void put_point(std::string& json, const Point& point) {
  put_list(json, point, [&](const Assigned& assigned) {
    fmt::format_to(std::back_inserter(json), "[{},", assigned.parameter);
    put(json, assigned.value);
    json += ']';
  });
}

}  // namespace

void describe(const Trial& trial, std::string& json) {
  fmt::format_to(std::back_inserter(json), R"({{"number":{},"state":{},"begun":{},"ended":{},"params":)",
                 trial.number, static_cast<int>(trial.state), trial.begun, trial.ended);
  put_point(json, trial.point);
  json += R"(,"values":)";
  put_numbers(json, trial.values);
  json += R"(,"reports":)";
  put_list(json, trial.reports, [&](const auto& report) {
    fmt::format_to(std::back_inserter(json), "[{},", report.first);
    put(json, report.second);
    json += ']';
  });
  json += R"(,"constraints":)";
  put_numbers(json, trial.constraints);
  json += R"(,"wishes":)";
  put_list(
      json, trial.wishes,
      [&](const auto& wish) {
        put_text(json, wish.first);
        json += ':';
        json += wish.second;
      },
      '{', '}');
  json += R"(,"user":)";
  describe(trial.attributes, false, json);
  json += R"(,"system":)";
  describe(trial.attributes, true, json);
  json += '}';
}

void describe(const Parameter& parameter, std::string& json) {
  const auto& domain = parameter.domain;
  json += R"({"name":)";
  put_text(json, parameter.name);
  fmt::format_to(std::back_inserter(json), R"(,"kind":{},"low":{},"high":{},"step":{},"log":{},"choices":)",
                 static_cast<int>(domain.kind), domain.low, domain.high, domain.step, domain.log);
  put_list(json, domain.choices, [&](const std::string& choice) { put_text(json, choice); });
  json += '}';
}

void describe(std::span<const Attribute> attributes, bool system, std::string& json) {
  std::vector<Attribute> wanted;
  for (const auto& attribute : attributes)
    if (attribute.system == system) wanted.push_back(attribute);
  put_list(
      json, wanted,
      [&](const Attribute& attribute) {
        put_text(json, attribute.key);
        json += ':';
        json += attribute.json;
      },
      '{', '}');
}

void describe(const std::pair<std::string, double>& share, std::string& json) {
  json += '[';
  put_text(json, share.first);
  json += ',';
  put(json, share.second);
  json += ']';
}

}  // namespace longship::study
