// SPDX-License-Identifier: Apache-2.0
#include "utf8.h"

namespace longship::formats {
namespace {

// Length of the character at the start, 0 if it is not one: RFC 3629, so no overlong forms, surrogates or
// beyond.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const unsigned second = byte(1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool surrogate = lead == 0xed && second >= 0xa0;
  const bool beyond = lead == 0xf4 && second >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

}  // namespace

std::optional<std::size_t> invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto length = character_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return {};
}

std::string with_replacements(std::string_view text) {
  std::string valid;
  while (const auto bad = invalid_utf8(text)) {
    valid.append(text.substr(0, *bad)).append("\xef\xbf\xbd");
    text.remove_prefix(*bad + 1);
  }
  return valid.append(text);
}

void append_code_point(std::string& text, std::uint32_t code) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | (code >> 12));
    tail(6), tail(0);
  } else {
    text += static_cast<char>(0xf0 | (code >> 18));
    tail(12), tail(6), tail(0);
  }
}

}  // namespace longship::formats
