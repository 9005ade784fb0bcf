// SPDX-License-Identifier: Apache-2.0
// Paths by their text alone: nothing is looked up.
#pragma once
#include <string_view>

namespace longship {

// Whether a path is the directory, or lies in it; both normal, without a slash at the end.
[[nodiscard]] inline bool is_beneath(std::string_view path, std::string_view directory) {
  return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
}

// "./x", "../x", "/x": meant as a path, where a plain "x" is a name.
[[nodiscard]] inline bool is_path(std::string_view text) {
  return text.starts_with('/') || text.starts_with("./") || text.starts_with("../") || text == "." ||
         text == "..";
}

}  // namespace longship
