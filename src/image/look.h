// SPDX-License-Identifier: Apache-2.0
// What an image is that nobody imported: a directory or a SquashFS file, looked at where it lies.
#pragma once
#include <filesystem>

#include "store/image.h"

namespace longship::image {

// The same as an import would find. What the caller may not read is passed over: it could not run it either.
[[nodiscard]] store::Facts look_at(const std::filesystem::path& root);

}  // namespace longship::image
