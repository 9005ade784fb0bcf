// SPDX-License-Identifier: Apache-2.0
// Sizes and times as people write them.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace longship::formats {

// "90GiB", "500MB", "1.5 TB", "4096": bytes. "90G" is an Error, as batch systems and disks mean different
// things by it.
[[nodiscard]] std::uint64_t parse_bytes(std::string_view text);
// "763 MB", "1.5 GB": at most three digits, in powers of 1000.
[[nodiscard]] std::string human_bytes(std::uint64_t bytes);

// "2h", "1h30m", "90s", "2d", "02:00:00". A number without a unit is an Error: minutes to Slurm, seconds to
// others.
[[nodiscard]] std::chrono::seconds parse_duration(std::string_view text);
// "1h30m": exact, so that it reads back the same.
[[nodiscard]] std::string human_duration(std::chrono::seconds duration);

}  // namespace longship::formats
