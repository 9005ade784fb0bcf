// SPDX-License-Identifier: Apache-2.0
// Where a path really is inside a tree that is not yet anybody's root.
#pragma once
#include <sys/types.h>

#include <string>
#include <string_view>

namespace longship::box {

struct Place {
  std::string path;  // relative to the tree, without links, "." and ".."; "" is the tree itself
  bool exists = false;
  mode_t mode = 0;  // with the type, if it exists
};

// Links are followed as if `tree` were "/": an image's /home -> /var/home does not lead to the host's. What
// does not exist is taken as written from there on.
[[nodiscard]] Place find_place(int tree, std::string_view path);

}  // namespace longship::box
