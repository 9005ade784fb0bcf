// SPDX-License-Identifier: Apache-2.0
#include "route_target.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/text.h"

namespace longship::hub::http {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string percent_decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? digit_of(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? digit_of(text[i + 2]) : -1;
      if (high < 0 || low < 0) throw Error("{}: a % that no two digits follow", printable(text));
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c == '\0') throw Error("{}: a zero byte in an address", printable(text));
    decoded += c;
  }
  return decoded;
}

Target parse_target(std::string_view target) {
  target = target.substr(0, target.find('#'));
  const auto question = target.find('?');
  const auto path = target.substr(0, question);
  if (!path.starts_with('/')) throw Error("{}: an address begins with /", printable(path));
  Target parsed;
  for (const auto part : split(path.substr(1), '/')) parsed.path.push_back(percent_decode(part));
  if (question == std::string_view::npos) return parsed;
  for (const auto pair : split(target.substr(question + 1), '&')) {
    if (pair.empty()) continue;
    const auto equals = pair.find('=');
    std::string value(equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1));
    std::replace(value.begin(), value.end(), '+', ' ');
    parsed.query[percent_decode(pair.substr(0, equals))] = percent_decode(value);
  }
  return parsed;
}

std::optional<std::vector<std::string>> match(std::string_view pattern, const Target& target) {
  const auto wanted = split(pattern.substr(1), '/');
  std::vector<std::string> captured;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].ends_with("...}")) {
      if (i >= target.path.size()) return {};
      const std::vector<std::string> rest(target.path.begin() + static_cast<std::ptrdiff_t>(i),
                                          target.path.end());
      captured.push_back(join(rest, "/"));
      return captured;
    }
    if (i >= target.path.size()) return {};
    if (wanted[i].starts_with('{')) {
      if (target.path[i].empty()) return {};
      captured.push_back(target.path[i]);
    } else if (wanted[i] != target.path[i]) {
      return {};
    }
  }
  if (target.path.size() != wanted.size()) return {};
  return captured;
}

Query::Query(const Target& target, std::initializer_list<std::string_view> known) : values_(target.query) {
  for (const auto& [name, value] : values_) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::vector<std::string> names(known.begin(), known.end());
    throw Error("unknown parameter \"{}\"{}", printable(name), suggestion(name, names));
  }
}

std::string Query::text(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::string() : found->second;
}

std::int64_t Query::number(const std::string& name, std::int64_t least, std::int64_t most,
                           std::int64_t fallback) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return fallback;
  const auto& text = found->second;
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || value < least || value > most)
    throw Error("{}: expected a number from {} to {}, found \"{}\"", name, least, most, printable(text));
  return value;
}

}  // namespace longship::hub::http
