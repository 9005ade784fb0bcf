// SPDX-License-Identifier: Apache-2.0
// Tokens: 32 random bytes that are shown once, and of which only the SHA-256 is kept.
#pragma once
#include <string>
#include <string_view>

namespace longship::hub {

[[nodiscard]] std::string new_token();  // "ls_" and 64 hexadecimal digits
[[nodiscard]] std::string token_hash(std::string_view token);

// What people call a token by: the first digits of its hash, which tell nothing of the token.
[[nodiscard]] std::string_view token_id(std::string_view hash);

// What an Idempotency-Key is remembered by: short, and different for each user.
[[nodiscard]] std::string key_hash(std::string_view user, std::string_view key);

}  // namespace longship::hub
