// SPDX-License-Identifier: Apache-2.0
// Sobol's sequence: points that fill a cube more evenly than chance does. Scrambled after Owen, so that other
// seeds give other points, each as even.
#pragma once
#include <cstdint>

namespace longship::study {

constexpr std::uint32_t sobol_dimensions = 64;

// In [0, 1). Beyond the last dimension points are merely random.
[[nodiscard]] double sobol(std::uint64_t seed, std::uint32_t index, std::uint32_t dimension);

}  // namespace longship::study
