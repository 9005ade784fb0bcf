// SPDX-License-Identifier: Apache-2.0
#include "open_image.h"

#include <fcntl.h>

#include "base/error.h"
#include "base/file.h"

namespace longship::image {
namespace fs = std::filesystem;
namespace {

bool is_squashfs(const fs::path& path) {
  FileSource file(open_file(path, O_RDONLY));
  char magic[4];
  return read_fully(file, magic, sizeof magic) == sizeof magic &&
         std::string_view(magic, sizeof magic) == "hsqs";
}

OciImage plain_tar(const fs::path& path, const BytesRead& progress) {
  OciImage image;
  image.layers.push_back(
      tar_layer({.name = path.filename().string(),
                 .open = [path] { return std::make_unique<FileSource>(open_file(path, O_RDONLY)); },
                 .digest = {},
                 .diff_id = {},
                 .repeatable = true,
                 .progress = progress}));
  return image;
}

void refuse_choice(std::string_view architecture) {
  if (!architecture.empty())
    throw Error(Failure::usage, "it does not say what it is for: only OCI layouts and docker archives do");
}

}  // namespace

OpenedImage open_image(const fs::path& path, const BytesRead& progress, std::string_view architecture) {
  if (!fs::exists(path)) throw Error("there is no such file or directory");
  OpenedImage found;
  if (!fs::is_directory(path) && is_squashfs(path)) {
    refuse_choice(architecture);
    found.image.layers.push_back(squashfs_layer(path, false));
    return found;
  }
  found.layout = fs::is_directory(path) ? directory_layout(path) : tar_layout(path);
  if (auto image = read_layout(*found.layout, progress, architecture)) {
    found.image = std::move(*image);
    return found;
  }
  refuse_choice(architecture);
  if (fs::is_directory(path)) {
    found.image.layers.push_back(directory_layer(path));
  } else {
    found.image = plain_tar(path, progress);
  }
  return found;
}

}  // namespace longship::image
