// SPDX-License-Identifier: Apache-2.0
// "/v1/jobs/digits-7/files/a%20b?attempt=2": the words of a request's target, decoded and checked.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longship::hub::http {

// %XX decoded; an Error for what is no such code or stands for NUL.
[[nodiscard]] std::string percent_decode(std::string_view text);

struct Target {
  std::vector<std::string> path;  // decoded; a "/" in a part was written %2F
  std::map<std::string, std::string> query;
};
[[nodiscard]] Target parse_target(std::string_view target);

// The captured parts, if the path is like the pattern: "{id}" is one part, "{name...}" the rest.
[[nodiscard]] std::optional<std::vector<std::string>> match(std::string_view pattern, const Target& target);

// A query's values by name; an unknown name is an Error with the nearest known one.
class Query {
 public:
  Query(const Target& target, std::initializer_list<std::string_view> known);
  [[nodiscard]] std::string text(const std::string& name) const;  // empty if absent
  [[nodiscard]] std::int64_t number(const std::string& name, std::int64_t least, std::int64_t most,
                                    std::int64_t fallback) const;

 private:
  const std::map<std::string, std::string>& values_;
};

}  // namespace longship::hub::http
