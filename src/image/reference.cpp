// SPDX-License-Identifier: Apache-2.0
#include "reference.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "formats/digest.h"

namespace longship::image {
namespace {

bool is_small_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_tag_character(char c) {
  return is_small_letter_or_digit(c) || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '-';
}

bool is_part(std::string_view part) {
  return !part.empty() && is_small_letter_or_digit(part.front()) && is_small_letter_or_digit(part.back()) &&
         std::all_of(part.begin(), part.end(),
                     [](char c) { return is_small_letter_or_digit(c) || c == '.' || c == '_' || c == '-'; });
}

bool is_repository(std::string_view name) {
  if (name.empty() || name.size() > 255) return false;
  const auto parts = split(name, '/');
  return std::all_of(parts.begin(), parts.end(), is_part);
}

bool is_tag(std::string_view tag) {
  return !tag.empty() && tag.size() <= 128 && tag.front() != '.' && tag.front() != '-' &&
         std::all_of(tag.begin(), tag.end(), is_tag_character);
}

bool is_registry(std::string_view host) {
  const bool has_mark = host == "localhost" || host.find_first_of(".:") != std::string_view::npos;
  return has_mark && !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
           return is_tag_character(c) || c == ':' || c == '[' || c == ']';
         });
}

}  // namespace

std::string Reference::text() const {
  std::string all = registry + "/" + repository;
  if (!tag.empty()) all += ":" + tag;
  if (!digest.empty()) all += "@" + digest;
  return all;
}

std::string Reference::full_repository() const {
  const bool is_short = registry == "docker.io" && repository.find('/') == std::string::npos;
  return is_short ? "library/" + repository : repository;
}

std::string Reference::short_name(std::string_view architecture) const {
  const auto last = repository.substr(repository.rfind('/') + 1);
  std::vector<std::string> words;
  if (!tag.empty() && tag != "latest") words.push_back(tag);
  const auto said = split(tag, '-');
  if (!architecture.empty() && std::find(said.begin(), said.end(), architecture) == said.end())
    words.emplace_back(architecture);
  return words.empty() ? last : last + ":" + join(words, "-");
}

Reference parse_reference(std::string_view text) {
  const auto wrong = [&](std::string_view what) {
    return Error(Failure::usage, "\"{}\": {}; an image in a registry is HOST[:PORT]/NAME[:TAG][@sha256:…]",
                 printable(text.substr(0, 300)), what);
  };
  Reference found;
  std::string_view rest = text;
  if (text.find("://") != std::string_view::npos) throw wrong("no http:// or https:// belongs in front");
  if (const auto at = rest.find('@'); at != std::string_view::npos) {
    found.digest = rest.substr(at + 1);
    if (!formats::is_digest(found.digest)) throw wrong("what follows the @ is no digest");
    rest = rest.substr(0, at);
  }
  const auto slash = rest.find('/');
  if (slash == std::string_view::npos || !is_registry(rest.substr(0, slash)))
    throw wrong("it does not begin with a registry's host");
  found.registry = rest.substr(0, slash);
  rest = rest.substr(slash + 1);
  if (const auto colon = rest.rfind(':'); colon != std::string_view::npos) {
    found.tag = rest.substr(colon + 1);
    if (!is_tag(found.tag)) throw wrong("its tag is none");
    rest = rest.substr(0, colon);
  }
  if (!is_repository(rest)) throw wrong("its name is none: parts of a-z 0-9 . _ - with slashes between them");
  found.repository = rest;
  if (found.tag.empty() && found.digest.empty()) found.tag = "latest";
  return found;
}

}  // namespace longship::image
