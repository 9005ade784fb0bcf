// SPDX-License-Identifier: Apache-2.0
#include "tar_fields.h"

namespace longship::image {
namespace {

// GNU's way for what octal digits cannot hold: the first bit set, then a big-endian two's complement number.
std::int64_t base256(std::string_view digits, std::string_view what) {
  const bool negative = (digits[0] & 0x40) != 0;
  std::uint64_t value = negative ? ~std::uint64_t{0} : 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    auto byte = static_cast<unsigned char>(digits[i]);
    if (i == 0) byte = static_cast<unsigned char>(negative ? byte | 0x80u : byte & 0x7fu);
    // What the shift pushes out, and the sign that comes after it, must be nothing but sign.
    if (value >> 55 != (negative ? 0x1ffu : 0u)) throw Error("its {} is out of range", what);
    value = value << 8 | byte;
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace

std::int64_t number_of(std::string_view digits, std::string_view what) {
  if ((static_cast<unsigned char>(digits[0]) & 0x80u) != 0) return base256(digits, what);
  std::string_view text = text_of(digits);
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  std::int64_t value = 0;
  if (text.empty()) return 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    throw Error("its {} is not a number: {}", what, printable(text));
  return value;
}

std::uint64_t size_of(std::string_view digits, std::string_view what) {
  const std::int64_t said = number_of(digits, what);
  if (said < 0) throw Error("its {} is negative", what);
  return static_cast<std::uint64_t>(said);
}

bool checksum_fits(const TarBlock& block) {
  // The checksum's own field counts as spaces. Some old programs added signed bytes: that sum is accepted
  // too.
  std::int64_t with_unsigned = 8 * ' ', with_signed = 8 * ' ';
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (i >= 148 && i < 156) continue;
    with_unsigned += static_cast<unsigned char>(block[i]);
    with_signed += static_cast<signed char>(block[i]);
  }
  std::string_view text = text_of(field(block, 148, 8));
  while (text.starts_with(' ')) text.remove_prefix(1);
  std::int64_t said = -1;
  std::from_chars(text.data(), text.data() + text.size(), said, 8);
  return said == with_unsigned || said == with_signed;
}

}  // namespace longship::image
