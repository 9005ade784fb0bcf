// SPDX-License-Identifier: Apache-2.0
#include "number.h"

#include <fmt/core.h>

#include <cmath>
#include <cstddef>

namespace longship::formats {

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ' ');
  return digits;
}

std::string human_seconds(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  if (seconds < 0.9995) return fmt::format("{:.0f} ms", seconds * 1000);
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  if (seconds < 59.5) return fmt::format("{:.0f} s", seconds);
  if (seconds >= 1e15) return "?";
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", grouped(whole / 3600), whole % 3600 / 60);
}

std::string human_value(double value) {
  const double size = std::fabs(value);
  if (size == 0) return "0";  // also the one below zero
  if (!std::isfinite(value) || size < 0.001 || size >= 1e15) return fmt::format("{:.3g}", value);
  if (size >= 99.95) return (value < 0 ? "-" : "") + grouped(static_cast<std::uint64_t>(std::llround(size)));
  return fmt::format("{:.3g}", value);
}

std::string percent(double share) {
  const double value = share * 100;
  return value > 0 && value < 0.95 ? fmt::format("{:.1f} %", value) : fmt::format("{:.0f} %", value);
}

}  // namespace longship::formats
