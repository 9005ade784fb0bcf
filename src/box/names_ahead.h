// SPDX-License-Identifier: Apache-2.0
// What is still to be walked of a path inside an image, where links on the way add to it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace longship::box {

inline constexpr int most_links = 40;  // that a walk follows, as the kernel

// The names lie backwards: what comes next is at the end.
using NamesAhead = std::vector<std::string>;

// A path, or a link's target, that is to be walked before what is there already.
void walk_first(NamesAhead& ahead, std::string_view path);

[[nodiscard]] std::string next_name(NamesAhead& ahead);

}  // namespace longship::box
