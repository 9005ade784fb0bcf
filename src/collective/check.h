// SPDX-License-Identifier: Apache-2.0
// Whether a request makes sense, before any other rank hears of it.
#pragma once
#include "task.h"

namespace longship::collective {

// By itself: an Error if not.
void check(const Request& request, int world_size);

// Among the ranks of its process set: what is wrong, or nothing.
[[nodiscard]] std::string why_not_in(const Circle& circle, const Request& request);

}  // namespace longship::collective
