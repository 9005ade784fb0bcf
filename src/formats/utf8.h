// SPDX-License-Identifier: Apache-2.0
// UTF-8 as documents need it: is it valid, and what to write instead if it is not.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace longship::formats {

[[nodiscard]] std::optional<std::size_t> invalid_utf8(std::string_view text);  // where the first bad byte is
[[nodiscard]] std::string with_replacements(std::string_view text);            // bad bytes become U+FFFD
void append_code_point(std::string& text, std::uint32_t code);

}  // namespace longship::formats
