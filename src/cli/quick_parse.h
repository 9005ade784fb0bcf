// SPDX-License-Identifier: Apache-2.0
// What parse() does, for words that leave no doubt: without its library, in a few microseconds.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "parse.h"

namespace longship::cli {

// The same as parse(), or nothing: then parse() has to decide, to whom all errors and --help are left. Some
// variables may be filled all the same.
[[nodiscard]] std::optional<Meaning> quick_parse(const Command& command, std::vector<std::string> words);

}  // namespace longship::cli
