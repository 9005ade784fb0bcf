// SPDX-License-Identifier: Apache-2.0
#include "units.h"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/text.h"

namespace longship::formats {
namespace {

template <class... Args>
Error wrong(fmt::format_string<Args...> format, Args&&... args) {
  return Error(Failure::usage, "{}", fmt::vformat(format, fmt::make_format_args(args...)));
}

struct Unit {
  std::string_view name;
  std::uint64_t size;
};

constexpr std::array<Unit, 12> byte_units = {{
    {"B", 1},
    {"kB", 1'000},
    {"KB", 1'000},
    {"MB", 1'000'000},
    {"GB", 1'000'000'000},
    {"TB", 1'000'000'000'000},
    {"PB", 1'000'000'000'000'000},
    {"KiB", std::uint64_t{1} << 10},
    {"MiB", std::uint64_t{1} << 20},
    {"GiB", std::uint64_t{1} << 30},
    {"TiB", std::uint64_t{1} << 40},
    {"PiB", std::uint64_t{1} << 50},
}};

constexpr std::array<Unit, 4> time_units = {{{"d", 86'400}, {"h", 3'600}, {"m", 60}, {"s", 1}}};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view take_digits(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  const auto digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

std::optional<std::uint64_t> to_number(std::string_view digits) {
  std::uint64_t number = 0;
  const auto* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc() || stop != end) return {};
  return number;
}

std::uint64_t byte_unit(std::string_view name, std::string_view whole) {
  if (name.empty()) return 1;
  for (const auto& unit : byte_units)
    if (unit.name == name) return unit.size;
  if (name.size() == 1 && std::string_view("kKMGTP").find(name) != std::string_view::npos) {
    const char letter = name == "k" ? 'K' : name[0];
    throw wrong("\"{}\" can be read in two ways: write {}iB (powers of 1024) or {}B (powers of 1000)",
                printable(whole), letter, letter);
  }
  std::vector<std::string> names;
  for (const auto& unit : byte_units) names.emplace_back(unit.name);
  throw wrong("\"{}\" is not a size: unknown unit{}", printable(whole), suggestion(name, names));
}

// whole.fraction × unit, rounded down; nothing if it does not fit.
std::optional<std::uint64_t> scaled(std::uint64_t whole, std::string_view fraction, std::uint64_t unit) {
  unsigned __int128 bytes = static_cast<unsigned __int128>(whole) * unit;
  // Digits beyond the 18th are less than a byte of the largest unit.
  std::uint64_t numerator = 0, denominator = 1;
  for (const char digit : fraction.substr(0, 18)) {
    numerator = numerator * 10 + static_cast<std::uint64_t>(digit - '0');
    denominator *= 10;
  }
  bytes += static_cast<unsigned __int128>(numerator) * unit / denominator;
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return {};
  return static_cast<std::uint64_t>(bytes);
}

std::optional<std::chrono::seconds> parse_clock(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() != 3 || parts[1].size() != 2 || parts[2].size() != 2) return {};
  const auto hours = to_number(parts[0]), minutes = to_number(parts[1]), seconds = to_number(parts[2]);
  if (!hours || !minutes || !seconds || *hours > 1'000'000 || *minutes > 59 || *seconds > 59) return {};
  return std::chrono::seconds(*hours * 3600 + *minutes * 60 + *seconds);
}

}  // namespace

std::uint64_t parse_bytes(std::string_view text) {
  auto rest = trim(text);
  if (rest.starts_with('-')) throw wrong("\"{}\" is not a size: it is negative", printable(text));
  const auto digits = take_digits(rest);
  std::string_view fraction;
  const bool has_point = rest.starts_with('.');
  if (has_point) {
    rest.remove_prefix(1);
    fraction = take_digits(rest);
  }
  if (digits.empty() || (has_point && fraction.empty()))
    throw wrong("\"{}\" is not a size: write a number and a unit, such as 90GiB", printable(text));
  const auto unit = byte_unit(trim(rest), text);
  if (has_point && unit == 1)
    throw wrong("\"{}\" is not a size: there are no parts of a byte", printable(text));
  const auto whole = to_number(digits);
  const auto bytes = whole ? scaled(*whole, fraction, unit) : std::nullopt;
  if (!bytes) throw wrong("\"{}\" is too large", printable(text));
  return *bytes;
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 7> names = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes < 1000) return fmt::format("{} B", bytes);
  auto size = static_cast<double>(bytes);
  std::size_t step = 0;
  while (size >= 999.5 && step + 1 < names.size()) {  // 999.5 would be shown as 1000
    size /= 1000;
    ++step;
  }
  return size < 9.95 ? fmt::format("{:.1f} {}", size, names[step])
                     : fmt::format("{:.0f} {}", size, names[step]);
}

std::chrono::seconds parse_duration(std::string_view text) {
  const auto whole = trim(text);
  if (whole.starts_with('-')) throw wrong("\"{}\" is not a time: it is negative", printable(text));
  if (const auto clock = parse_clock(whole)) return *clock;
  std::uint64_t seconds = 0;
  auto rest = whole;
  std::uint64_t previous_unit = std::numeric_limits<std::uint64_t>::max();
  do {
    const auto digits = take_digits(rest);
    const auto number = to_number(digits);
    std::uint64_t unit = 0;
    for (const auto& known : time_units)
      if (rest.starts_with(known.name)) unit = known.size;
    if (!digits.empty() && rest.empty() && digits.size() == whole.size())
      throw wrong("\"{}\" is not a time: it needs a unit, such as {}m or {}s", printable(text), digits,
                  digits);
    if (digits.empty() || unit == 0 || unit >= previous_unit)
      throw wrong("\"{}\" is not a time: write it like 1h30m, 90s, 2d or 02:00:00", printable(text));
    constexpr std::uint64_t most = 100'000'000'000;  // three thousand years, far from any overflow
    if (!number || *number > most / unit) throw wrong("\"{}\" is too long", printable(text));
    seconds += *number * unit;
    previous_unit = unit;
    rest.remove_prefix(1);
  } while (!rest.empty());
  return std::chrono::seconds(seconds);
}

std::string human_duration(std::chrono::seconds duration) {
  if (duration.count() < 0) return "-" + human_duration(-duration);
  std::string text;
  auto left = static_cast<std::uint64_t>(duration.count());
  for (const auto& unit : time_units) {
    if (left >= unit.size) text += fmt::format("{}{}", left / unit.size, unit.name);
    left %= unit.size;
  }
  return text.empty() ? "0s" : text;
}

}  // namespace longship::formats
