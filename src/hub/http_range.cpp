// SPDX-License-Identifier: Apache-2.0
#include "http_range.h"

#include <charconv>
#include <limits>

#include "base/error.h"
#include "base/text.h"

namespace longship::hub::http {
namespace {

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || problem != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

}  // namespace

std::optional<ByteRange> parse_range(std::string_view header) {
  if (!header.starts_with("bytes=") || header.find(',') != std::string_view::npos) return {};
  const auto words = trim(header.substr(6));
  const auto dash = words.find('-');
  if (dash == std::string_view::npos) return {};
  ByteRange range{number(words.substr(0, dash)), number(words.substr(dash + 1))};
  const bool first_is_text = dash > 0 && !range.first;
  const bool last_is_text = dash + 1 < words.size() && !range.last;
  if (first_is_text || last_is_text || (!range.first && !range.last)) return {};
  if (range.first && range.last && *range.first > *range.last) return {};
  return range;
}

std::optional<Part> part_of(const ByteRange& range, std::uint64_t size) {
  if (!range.first) {
    const auto length = std::min(range.last.value_or(0), size);
    if (length == 0) return {};
    return Part{size - length, length};
  }
  if (*range.first >= size) return {};
  const auto last = std::min(range.last.value_or(size - 1), size - 1);
  return Part{*range.first, last - *range.first + 1};
}

ContentRange parse_content_range(std::string_view header) {
  const Error wrong("Content-Range: expected bytes FIRST-LAST/SIZE, found \"{}\"", printable(header));
  if (!header.starts_with("bytes ")) throw wrong;
  const auto words = header.substr(6);
  const auto dash = words.find('-');
  const auto slash = words.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || slash < dash) throw wrong;
  const auto first = number(words.substr(0, dash));
  const auto last = number(words.substr(dash + 1, slash - dash - 1));
  const auto size = number(words.substr(slash + 1));
  if (!first || !last || !size || *first > *last || *last >= *size ||
      *size > std::numeric_limits<std::uint64_t>::max() / 2)
    throw wrong;
  return {{*first, *last - *first + 1}, *size};
}

}  // namespace longship::hub::http
