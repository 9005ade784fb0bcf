// SPDX-License-Identifier: Apache-2.0
// A fuzzer's bytes cut into texts.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace longship::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Up to the mark, which goes too; all of it if there is none.
inline std::string_view take_until(std::string_view& rest, std::string_view mark) {
  const auto end = rest.find(mark);
  const auto taken = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + mark.size());
  return taken;
}

}  // namespace longship::fuzz
