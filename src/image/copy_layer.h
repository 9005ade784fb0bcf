// SPDX-License-Identifier: Apache-2.0
// COPY's part of a build: files of the context as a layer, somewhere else in the image.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "layer.h"

namespace longship::image {

struct Copy {
  std::filesystem::path context;
  std::vector<std::string> sources;  // relative to it; "*" and "?" in the last part match names
  std::string destination;           // absolute; with a slash at the end, or for several sources, a directory
  Ignored ignored;                   // by .dockerignore
};
// An Error if a source is not there, or leads out of the context.
[[nodiscard]] std::unique_ptr<Layer> copy_layer(Copy copy);

[[nodiscard]] std::unique_ptr<Layer> empty_directory_layer(std::string path);

// Of all names, modes and contents; not of times: a fresh clone has the same.
[[nodiscard]] std::string digest_of(Layer& layer);

}  // namespace longship::image
