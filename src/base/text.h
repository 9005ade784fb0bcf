// SPDX-License-Identifier: Apache-2.0
// Small things with strings.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longship {

[[nodiscard]] std::vector<std::string_view> split(std::string_view text,
                                                  char separator);  // "a,,b" is three parts
[[nodiscard]] std::string_view trim(std::string_view text);
[[nodiscard]] std::string lower(std::string_view text);  // of ASCII letters
[[nodiscard]] std::string join(std::span<const std::string> parts, std::string_view between);
void append(std::vector<std::string>& words, const std::vector<std::string>& more);
[[nodiscard]] std::string counted(std::int64_t count, std::string_view noun);  // "1 rank", "2 ranks"

// A name that others chose, made safe to show: control characters, those of Unicode too (U+009B is ESC [ to a
// terminal), and bytes that are not UTF-8 become \n, \x1b, ….
[[nodiscard]] std::string printable(std::string_view text);

// The arguments as one would type them in a shell; only ever to show them.
[[nodiscard]] std::string as_typed(std::span<const std::string> arguments);

// The known word nearest to a mistyped one, if one is near enough to be meant.
[[nodiscard]] std::optional<std::string> closest(std::string_view word, std::span<const std::string> known);
// ": did you mean "nodes"?" or nothing: ready to append to an error.
[[nodiscard]] std::string suggestion(std::string_view word, std::span<const std::string> known);

}  // namespace longship
