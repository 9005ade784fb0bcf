// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them; bytes are in units.h.
#pragma once
#include <cstdint>
#include <string>

namespace longship::formats {

[[nodiscard]] std::string grouped(std::uint64_t number);  // 61 214
[[nodiscard]] std::string human_seconds(double seconds);  // 85 ms, 4.2 s, 2 min 10 s, 3 h 5 min
[[nodiscard]] std::string human_value(double value);  // 0.213, 4 180, 1.3e-07: three digits where they matter
[[nodiscard]] std::string percent(double share);      // 94 %, 0.4 %

}  // namespace longship::formats
