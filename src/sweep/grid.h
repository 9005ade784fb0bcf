// SPDX-License-Identifier: Apache-2.0
// All points of a scan: each parameter's values in turn, those of later parameters changing fastest. A
// parameter that does not exist at a point has no values there, and points that break a rule are left out.
#pragma once
#include <vector>

#include "space.h"

namespace longship::sweep {

// `points`: how many of a real number without steps. An Error if there are more than a million.
[[nodiscard]] std::vector<formats::Table> grid_points(const Space& space, std::size_t points);

}  // namespace longship::sweep
