// SPDX-License-Identifier: Apache-2.0
// How an all-reduce that needs a power of two serves any number of ranks: see fold() in layout.h. The folded
// ranks hand their values to their neighbours first, the others do the work, and the neighbours hand back the
// result.
#pragma once
#include <functional>

#include "layout.h"
#include "schedules.h"

namespace longship::collective {

// `take_in` combines what a neighbour has handed over with the own values; `among_active` is the schedule of
// those that are left.
[[nodiscard]] Schedule folded_allreduce(Transport& transport, Tag tag, Values values,
                                        std::function<void(const std::byte*)> take_in,
                                        std::function<Schedule(const Folding&)> among_active);

}  // namespace longship::collective
