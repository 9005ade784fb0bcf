// SPDX-License-Identifier: Apache-2.0
// SHA-256 and HMAC for the few bytes of a greeting between ranks: a training process cannot rely on any
// OpenSSL. For speed or for large data use formats' digests.
#pragma once
#include <array>
#include <cstddef>
#include <span>

namespace longship::collective {

using Digest = std::array<std::byte, 32>;

[[nodiscard]] Digest sha256(std::span<const std::byte> message);
[[nodiscard]] Digest hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> message);

// In a time that does not tell where they differ.
[[nodiscard]] bool equal(std::span<const std::byte> a, std::span<const std::byte> b);

}  // namespace longship::collective
