// SPDX-License-Identifier: Apache-2.0
// WWW-Authenticate: Bearer
// realm="https://auth.example.org/token",service="registry",scope="repository:a/b:pull"
#include "base/text.h"
#include "registry.h"

namespace longship::image {
namespace {

std::string_view take_word(std::string_view& rest, std::string_view ends) {
  const auto size = std::min(rest.find_first_of(ends), rest.size());
  const auto word = rest.substr(0, size);
  rest.remove_prefix(size);
  return word;
}

std::string take_quoted(std::string_view& rest) {
  std::string text;
  rest.remove_prefix(1);
  while (!rest.empty() && rest.front() != '"') {
    if (rest.front() == '\\' && rest.size() > 1) rest.remove_prefix(1);
    text += rest.front();
    rest.remove_prefix(1);
  }
  if (!rest.empty()) rest.remove_prefix(1);
  return text;
}

}  // namespace

std::optional<Challenge> parse_challenge(std::string_view header) {
  std::string_view rest = trim(header);
  Challenge found;
  found.scheme = lower(take_word(rest, " \t"));
  if (found.scheme != "bearer" && found.scheme != "basic") return {};
  while (!(rest = trim(rest)).empty()) {
    if (rest.front() == ',') {
      rest.remove_prefix(1);
      continue;
    }
    const auto key = lower(trim(take_word(rest, "=,")));
    if (rest.empty() || rest.front() != '=') continue;
    rest.remove_prefix(1);
    rest = trim(rest);
    const std::string value =
        rest.starts_with('"') ? take_quoted(rest) : std::string(trim(take_word(rest, ",")));
    if (key == "realm") found.realm = value;
    if (key == "service") found.service = value;
    if (key == "scope") found.scope = value;
  }
  return found;
}

}  // namespace longship::image
