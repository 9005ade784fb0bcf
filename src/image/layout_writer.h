// SPDX-License-Identifier: Apache-2.0
// An image as an OCI layout with one layer.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/progress.h"
#include "store/image.h"

namespace longship::image {

// The manifest of a layout, and what it names.
struct LayoutSummary {
  std::string manifest, manifest_digest;
  std::string config_digest, layer_digest;
  std::uint64_t config_size = 0, layer_size = 0;
};

// Of a SquashFS file, into an empty directory: oci-layout, index.json, blobs/sha256/…
LayoutSummary write_layout(const std::filesystem::path& root, const store::Image& image,
                           const std::filesystem::path& directory, Progress& progress);

// A SquashFS file as a tar.
void write_tar(const std::filesystem::path& root, const std::function<void(std::string_view)>& sink);

}  // namespace longship::image
