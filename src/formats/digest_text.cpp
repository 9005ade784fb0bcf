// SPDX-License-Identifier: Apache-2.0
// Digests as text, apart from their making: what only reads them does not link OpenSSL, whose start alone
// takes as long as a tenth of a box's.
#include "base/error.h"
#include "base/text.h"
#include "digest.h"

namespace longship::formats {
namespace {

constexpr std::string_view algorithm = "sha256:";

}  // namespace

bool is_digest(std::string_view text) {
  if (!text.starts_with(algorithm)) return false;
  text.remove_prefix(algorithm.size());
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string_view hex_of(std::string_view digest) {
  if (!is_digest(digest))
    throw Error("\"{}\" is no digest: expected sha256: and 64 hexadecimal digits", printable(digest));
  return digest.substr(algorithm.size());
}

}  // namespace longship::formats
