// SPDX-License-Identifier: Apache-2.0
// Population-based training (Jaderberg et al. 2017): what one member of a population does at the end of a
// step.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "history.h"

namespace longship::study {

// The worst `share` of the members go on from the checkpoint of a random one of the best `share`: its index.
// Nothing: it goes on with its own.
[[nodiscard]] std::optional<std::size_t> take_over_from(std::span<const double> losses, std::size_t member,
                                                        double share, std::uint64_t seed);
// The values with which it then goes on: each moved along its axis by `distance` of its range, down or up,
// or, with the chance `anew`, drawn like a new one. Choices change only by being drawn.
[[nodiscard]] Point explored(const History& history, const Point& from, double distance, double anew,
                             std::uint64_t seed);

}  // namespace longship::study
