// SPDX-License-Identifier: Apache-2.0
// The fields of a tar header: text, and numbers in the ways that programs have found to write them.
#pragma once
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace longship::image {

using TarBlock = std::array<char, 512>;

[[nodiscard]] inline std::string_view field(const TarBlock& block, std::size_t at, std::size_t length) {
  return {block.data() + at, length};
}

// Up to the first NUL; a field that fills its room has none.
[[nodiscard]] inline std::string_view text_of(std::string_view field) {
  return field.substr(0, field.find('\0'));
}

// Octal digits, or GNU's base 256; an Error that says `what` it should have been.
[[nodiscard]] std::int64_t number_of(std::string_view digits, std::string_view what);
// The same where only a size makes sense.
[[nodiscard]] std::uint64_t size_of(std::string_view digits, std::string_view what);

// The whole text as a number, as extended headers have them.
template <class Number>
[[nodiscard]] Number decimal(std::string_view text, std::string_view key) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw Error("the extended header has {} = {}, which is not a number", key, printable(text));
  return value;
}

[[nodiscard]] bool checksum_fits(const TarBlock& block);

}  // namespace longship::image
