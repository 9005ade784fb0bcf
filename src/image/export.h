// SPDX-License-Identifier: Apache-2.0
// An image for other tools: an OCI layout, a tar of the whole system, its SquashFS file, a directory.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "base/progress.h"
#include "store/store.h"

namespace longship::image {

enum class Format { oci, oci_archive, tar, squashfs, directory };
// By its name, or by how the path ends: ".oci.tar", ".tar" (also .gz), ".sqfs"; a path that ends otherwise is
// an OCI layout.
[[nodiscard]] Format format_of(std::string_view name, const std::filesystem::path& path);

// What is at `path` already is never touched: it is an Error. All of it appears, or nothing.
void export_image(const store::Store& store, const store::Image& image, const std::filesystem::path& path,
                  Format format, Progress& progress);

// The manifest of a layout written by write_layout, and what it names.
struct LayoutSummary {
  std::string manifest, manifest_digest;
  std::string config_digest, layer_digest;
  std::uint64_t config_size = 0, layer_size = 0;
};
// Into an empty directory: oci-layout, index.json, blobs/sha256/…
LayoutSummary write_layout(const store::Store& store, const store::Image& image,
                           const std::filesystem::path& directory, Progress& progress);

}  // namespace longship::image
