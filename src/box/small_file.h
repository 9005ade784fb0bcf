// SPDX-License-Identifier: Apache-2.0
// Settings under /proc, /etc/passwd and the like: small, often missing, and wanted quickly.
#pragma once
#include <fcntl.h>

#include <optional>
#include <string>

namespace longship::box {

// Nothing if it cannot be read. Links lead where they lead: for the host's own files.
[[nodiscard]] std::optional<std::string> read_small_file(const std::string& path);

// Nothing if it cannot be read, with links confined to the tree: for an image's files.
[[nodiscard]] std::optional<std::string> read_small_file_in(int tree, const std::string& path);

}  // namespace longship::box
