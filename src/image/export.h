// SPDX-License-Identifier: Apache-2.0
// An image for other tools: an OCI layout, a tar of the whole system, its SquashFS file, a directory.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "base/progress.h"
#include "store/image.h"

namespace longship::image {

enum class Format { oci, oci_archive, tar, squashfs, directory };
// By its name, or by how the path ends: ".oci.tar", ".tar" (also .gz), ".sqfs"; a path that ends otherwise is
// an OCI layout.
[[nodiscard]] Format format_of(std::string_view name, const std::filesystem::path& path);

// What is at `path` already is never touched: it is an Error. All of it appears, or nothing. `root` is the
// image's SquashFS file.
void export_image(const std::filesystem::path& root, const store::Image& image,
                  const std::filesystem::path& path, Format format, Progress& progress);

// The same from anything that import understands, without the store; to a SquashFS file or a directory in one
// pass.
void convert(const std::filesystem::path& from, const std::filesystem::path& path, Format format,
             Progress& progress);

}  // namespace longship::image
