// SPDX-License-Identifier: Apache-2.0
#include "secrets.h"

#include <fmt/format.h>
#include <openssl/rand.h>

#include <array>

#include "base/error.h"
#include "formats/digest.h"

namespace longship::hub {

std::string new_token() {
  std::array<unsigned char, 32> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    throw Error("the system has no random numbers for a new token");
  std::string token = "ls_";
  for (const auto byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

std::string token_hash(std::string_view token) {
  return std::string(formats::hex_of(formats::digest_of(token)));
}

std::string_view token_id(std::string_view hash) {
  return hash.substr(0, 12);
}

std::string key_hash(std::string_view user, std::string_view key) {
  std::string both(user);
  both += '\0';
  both += key;
  // 15 bytes need no memory beside the string itself, and there may be a million of them.
  const auto digest = formats::digest_of(both);
  const auto hex = formats::hex_of(digest);
  std::string hash;
  for (std::size_t at = 0; at < 30; at += 2)
    hash += static_cast<char>(std::stoi(std::string(hex.substr(at, 2)), nullptr, 16));
  return hash;
}

}  // namespace longship::hub
