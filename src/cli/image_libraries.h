// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "chosen_image.h"
#include "fit/fit.h"

namespace longship::cli {

// What matters for libraries of the host that are let in; a directory is looked at.
[[nodiscard]] fit::ImageFacts facts_for_libraries(const ChosenImage& image);

}  // namespace longship::cli
