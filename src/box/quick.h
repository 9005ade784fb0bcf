// SPDX-License-Identifier: Apache-2.0
// Boxes that start without a library and without another process of ours: from a directory, from a SquashFS
// file that another box has mounted already, and into a box that others have made. All that most ranks of a
// node need, in a program that is there at once (src/cli/quick).
#pragma once
#include <optional>

#include "box.h"

namespace longship::box {

// Nothing, and nothing has changed: it takes enter(). Errors as there.
[[nodiscard]] std::optional<Way> enter_quickly(const Spec& spec);

}  // namespace longship::box
