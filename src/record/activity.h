// SPDX-License-Identifier: Apache-2.0
// What a thread can be busy with, as far as a report tells them apart.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace longship::record {

enum class Activity : std::uint8_t { compute, communication, waiting, input, checkpoint, other };

inline constexpr std::array<std::string_view, 6> activity_names = {"compute", "communication", "waiting",
                                                                   "input",   "checkpoint",    "other"};
[[nodiscard]] constexpr std::string_view name_of(Activity activity) {
  return activity_names[static_cast<std::size_t>(activity)];
}

}  // namespace longship::record
