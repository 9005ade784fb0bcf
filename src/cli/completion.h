// SPDX-License-Identifier: Apache-2.0
// Completion scripts for an app's words.
#pragma once
#include <string>

#include "words.h"

namespace longship::cli {

[[nodiscard]] std::string bash_completion(const Command& app);
[[nodiscard]] std::string zsh_completion(const Command& app);
[[nodiscard]] std::string fish_completion(const Command& app);

}  // namespace longship::cli
