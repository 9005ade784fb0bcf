// SPDX-License-Identifier: Apache-2.0
// A file of a SquashFS image by its path, with the links on the way followed as a process would that has the
// image as its root.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "checked_squashfs.h"

namespace longship::box {

struct FoundFile {
  std::string path;  // without links; the root's is empty
  sqfs_inode inode = {};
};

// Nothing if there is none, or the image is damaged.
[[nodiscard]] std::optional<FoundFile> find_file(SquashFs& image, std::string_view path);

}  // namespace longship::box
