// SPDX-License-Identifier: Apache-2.0
// The images that a reference may mean, and the one among them that a site can run.
#pragma once
#include "match.h"

namespace longship::site {

// A verdict about the image alone: the first variant that fits wholly, else the first with limits.
[[nodiscard]] Verdict choose_variant(const job::Job& job, const Site& site,
                                     std::span<const Variant> variants);

}  // namespace longship::site
