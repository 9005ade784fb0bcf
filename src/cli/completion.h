// SPDX-License-Identifier: Apache-2.0
// Completion scripts for an app's words.
#pragma once
#include <string>

namespace CLI {
class App;
}

namespace longship::cli {

[[nodiscard]] std::string bash_completion(const CLI::App& app);
[[nodiscard]] std::string zsh_completion(const CLI::App& app);
[[nodiscard]] std::string fish_completion(const CLI::App& app);

}  // namespace longship::cli
