// SPDX-License-Identifier: Apache-2.0
// Records of images in the store's directories: a small JSON file each.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "image.h"

namespace longship::store {

[[nodiscard]] Image read_record(const std::filesystem::path& path);
[[nodiscard]] std::vector<std::filesystem::path> records_in(
    const std::filesystem::path& directory);                   // sorted
[[nodiscard]] std::string record_file(std::string_view name);  // of an image with this name

}  // namespace longship::store
