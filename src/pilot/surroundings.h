// SPDX-License-Identifier: Apache-2.0
// What the batch system tells an allocation about itself.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"

namespace longship::pilot {

// "n[1-3,07],login" is n1, n2, n3, n07, login. An Error if it is no such list.
[[nodiscard]] std::vector<std::string> expand_nodes(std::string_view list);

// Of the allocation; this machine's name if there is none.
[[nodiscard]] std::vector<std::string> nodes_of(const Environment& environment);

// Until the allocation ends: what was ordered, or less if the batch system knows better. Nothing: no limit.
[[nodiscard]] std::optional<std::chrono::seconds> time_left(std::chrono::seconds ordered,
                                                            const Environment& environment,
                                                            std::chrono::system_clock::time_point now);

}  // namespace longship::pilot
