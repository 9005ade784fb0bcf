// SPDX-License-Identifier: Apache-2.0
// A study as one HTML file that needs nothing else: its data, and the script that draws them (page/plots.js,
// which the portal uses as well).
#pragma once
#include <string>

#include "formats/document.h"

namespace longship::sweep {

// `study` as study_json() gave it.
[[nodiscard]] std::string page(const formats::Table& study);

}  // namespace longship::sweep
