// SPDX-License-Identifier: Apache-2.0
// An image that is here as a file or directory, made ready to be read: an OCI layout or a tar of one, docker
// save's archive, a tar of a whole system, a directory tree, a SquashFS file. Which of them is found out by
// looking.
#pragma once
#include <filesystem>
#include <memory>
#include <string_view>

#include "oci.h"

namespace longship::image {

struct OpenedImage {
  std::unique_ptr<Layout> layout;  // the layers read from it
  OciImage image;
};
// `architecture`: of several images the one for it; empty: for this machine. An Error if it has none.
[[nodiscard]] OpenedImage open_image(const std::filesystem::path& path, const BytesRead& progress,
                                     std::string_view architecture = {});

}  // namespace longship::image
