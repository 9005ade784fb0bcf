// SPDX-License-Identifier: Apache-2.0
// Bytes as hexadecimal digits: secrets in variables and files.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longship::collective {

[[nodiscard]] std::string to_hex(std::span<const std::byte> bytes);
[[nodiscard]] std::optional<std::vector<std::byte>> from_hex(std::string_view text);

}  // namespace longship::collective
