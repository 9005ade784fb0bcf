// SPDX-License-Identifier: Apache-2.0
// The 16-bit floats, by arithmetic that every compiler can vectorise: rounded to nearest even, NaN stays NaN.
#pragma once
#include <bit>
#include <cstdint>

namespace longship::collective::detail {

[[nodiscard]] inline float from_half(std::uint16_t bits) {
  // Shifted into place the exponent is too small by 112; a multiplication puts it right, for subnormals as
  // well.
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t rest = static_cast<std::uint32_t>(bits & 0x7fffu) << 13;
  if (rest >= 0x0f800000u) return std::bit_cast<float>(sign | rest | 0x7f800000u);  // infinity, NaN
  const float magnitude = std::bit_cast<float>(rest) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
}

[[nodiscard]] inline std::uint16_t to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t rest = bits & 0x7fffffffu;
  std::uint32_t result = 0;
  if (rest > 0x7f800000u) {
    result = 0x7e00u;  // NaN
  } else if (rest >= 0x477ff000u) {
    result = 0x7c00u;  // 65520 and above round to infinity
  } else if (rest < 0x38800000u) {
    // Subnormal: adding 0.5 moves the 2^-24 steps to the end of the mantissa, where the hardware rounds them.
    result = std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) + 0.5f) - 0x3f000000u;
  } else {
    result = (rest - 0x38000000u + 0x0fffu + ((rest >> 13) & 1u)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | result);
}

[[nodiscard]] inline float from_bfloat(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

[[nodiscard]] inline std::uint16_t to_bfloat(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return static_cast<std::uint16_t>((bits >> 16) | 0x40u);  // a quiet NaN
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace longship::collective::detail
