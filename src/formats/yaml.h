// SPDX-License-Identifier: Apache-2.0
// YAML as far as other people's files need it (CDI): maps, lists and plain values, read by libyaml. Anchors
// and aliases are refused, for a few lines of them stand for gigabytes.
#pragma once
#include "document.h"

namespace longship::formats {

// One document. Syntax errors name line and column. Words that are not in quotes are what YAML 1.2's core
// schema makes of them: null, true, false, integers, numbers; else texts.
[[nodiscard]] Value parse_yaml(std::string_view text, std::string_view origin, const Limits& limits = {});

}  // namespace longship::formats
