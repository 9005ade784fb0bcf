// SPDX-License-Identifier: Apache-2.0
// The files in page/, as they are in the program.
#pragma once
#include <string_view>

namespace longship::sweep {

extern const std::string_view page_template, page_style, page_script;

}  // namespace longship::sweep
