// SPDX-License-Identifier: Apache-2.0
#include "ignore.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/text.h"

namespace longship::formats {
namespace {

// "Star" matching in the time of pattern × text: when stuck, the latest star takes one more, and no earlier
// one has to. Used for the letters of a part, where the star is "*", and for the parts of a path, where it is
// "**".
template <class IsStar, class Matches>
bool star_match(std::size_t pattern_size, std::size_t text_size, IsStar&& is_star, Matches&& matches) {
  std::size_t p = 0, t = 0;
  std::optional<std::size_t> star;
  std::size_t taken_to = 0;
  while (t < text_size) {
    if (p < pattern_size && is_star(p)) {
      star = p++;
      taken_to = t;
    } else if (p < pattern_size && matches(p, t)) {
      ++p, ++t;
    } else if (star) {
      p = *star + 1;
      t = ++taken_to;
    } else {
      return false;
    }
  }
  while (p < pattern_size && is_star(p)) ++p;
  return p == pattern_size;
}

// A letter, "?", "[…]" or "*" of a pattern.
struct Token {
  enum class Kind { letter, any, set, star } kind;
  char letter = 0;
  std::string_view set = {};  // between the brackets
};

// Where the set that begins after "[" ends; a "]" right at its start is a letter.
std::optional<std::size_t> end_of_set(std::string_view pattern, std::size_t at) {
  if (at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^')) ++at;
  const auto end = pattern.find(']', at + 1);
  if (end == std::string_view::npos) return {};
  return end;
}

std::vector<Token> tokens_of(std::string_view pattern) {
  std::vector<Token> tokens;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    if (c == '*') {
      tokens.push_back({Token::Kind::star});
    } else if (c == '?') {
      tokens.push_back({Token::Kind::any});
    } else if (const auto end = c == '[' ? end_of_set(pattern, at + 1) : std::nullopt) {
      tokens.push_back({Token::Kind::set, 0, pattern.substr(at + 1, *end - at - 1)});
      at = *end;
    } else {
      if (c == '\\' && at + 1 < pattern.size()) ++at;
      tokens.push_back({Token::Kind::letter, pattern[at]});
    }
  }
  return tokens;
}

bool in_set(std::string_view set, char c) {
  const bool inverted = set.starts_with('!') || set.starts_with('^');
  if (inverted) set.remove_prefix(1);
  const auto value = static_cast<unsigned char>(c);
  bool found = false;
  for (std::size_t at = 0; at < set.size(); ++at) {
    const auto low = static_cast<unsigned char>(set[at]);
    auto high = low;
    if (at + 2 < set.size() && set[at + 1] == '-') {
      high = static_cast<unsigned char>(set[at + 2]);
      at += 2;
    }
    found = found || (value >= low && value <= high);
  }
  return found != inverted;
}

std::string_view without_trailing_blanks(std::string_view line) {
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r')) {
    if (line.size() > 1 && line[line.size() - 2] == '\\') break;
    line.remove_suffix(1);
  }
  return line;
}

bool matches_path(std::span<const std::string> pattern, std::span<const std::string_view> path) {
  return star_match(
      pattern.size(), path.size(), [&](std::size_t p) { return pattern[p] == "**"; },
      [&](std::size_t p, std::size_t t) { return detail::matches_part(pattern[p], path[t]); });
}

}  // namespace

bool detail::matches_part(std::string_view pattern, std::string_view text) {
  const auto tokens = tokens_of(pattern);
  return star_match(
      tokens.size(), text.size(), [&](std::size_t p) { return tokens[p].kind == Token::Kind::star; },
      [&](std::size_t p, std::size_t t) {
        switch (tokens[p].kind) {
          case Token::Kind::letter:
            return tokens[p].letter == text[t];
          case Token::Kind::set:
            return in_set(tokens[p].set, text[t]);
          default:
            return true;
        }
      });
}

void IgnoreList::add_lines(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // some editors start UTF-8 with a mark
  for (const auto line : split(text, '\n')) add_pattern(line);
}

void IgnoreList::add_pattern(std::string_view line) {
  line = without_trailing_blanks(line);
  if (line.starts_with('#')) return;
  Pattern pattern;
  if (line.starts_with('!')) {
    pattern.taken_back = true;
    line.remove_prefix(1);
  }
  if (line.ends_with('/')) {
    pattern.only_directories = true;
    line.remove_suffix(1);
  }
  const bool anchored = line.find('/') != std::string_view::npos;
  if (line.starts_with('/')) line.remove_prefix(1);
  if (line.empty()) return;
  if (!anchored) pattern.parts.emplace_back("**");
  for (const auto part : split(line, '/')) pattern.parts.emplace_back(part);
  if (pattern.parts.back() == "**") pattern.parts.emplace_back("*");  // "a/**" is what is in a, not a itself
  patterns_.push_back(std::move(pattern));
}

bool IgnoreList::ignores(std::string_view path, bool is_directory) const {
  const auto parts = split(path, '/');
  for (auto pattern = patterns_.rbegin(); pattern != patterns_.rend(); ++pattern) {
    if (pattern->only_directories && !is_directory) continue;
    if (matches_path(pattern->parts, parts)) return !pattern->taken_back;
  }
  return false;
}

}  // namespace longship::formats
