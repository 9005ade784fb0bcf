// SPDX-License-Identifier: Apache-2.0
// Boxes that start without a library: from a directory, from a SquashFS file whose mount boxes share, and
// into a box that others have made. All that most ranks of a node need, in a program that is there at once
// (src/cli/quick).
#pragma once
#include <optional>
#include <string>

#include "box.h"

namespace longship::box {

// Nothing, and nothing has changed: it takes enter(). Errors as there. `keeper` is the program that keeps an
// image mounted (keeper_program.h).
[[nodiscard]] std::optional<Way> enter_quickly(const Spec& spec, const std::string& keeper);

}  // namespace longship::box
