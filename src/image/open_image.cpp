// SPDX-License-Identifier: Apache-2.0
#include "open_image.h"

#include <fcntl.h>

#include "base/error.h"
#include "base/file.h"
#include "squashfs.h"

namespace longship::image {
namespace fs = std::filesystem;
namespace {

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

// It is read twice, to find out what it is and to convert it, and may be read for as long as it has bytes.
void check_kind(const fs::path& path) {
  switch (fs::status(path).type()) {
    case fs::file_type::regular:
    case fs::file_type::directory:
      return;
    case fs::file_type::not_found:
      throw Error("there is no such file or directory");
    case fs::file_type::fifo:
      throw Error(Failure::usage,
                  "it is a pipe, which can be read only once: write what comes of it to a file first");
    case fs::file_type::block:
    case fs::file_type::character:
      throw Error(Failure::usage, "it is a device, and a device is no image: give a file or a directory");
    default:
      throw Error(Failure::usage, "it is neither a file nor a directory");
  }
}

void refuse_choice(std::string_view architecture) {
  if (!architecture.empty())
    throw Error(Failure::usage, "it does not say what it is for: only OCI layouts and docker archives do");
}

}  // namespace

OpenedImage open_image(const fs::path& path, const BytesRead& progress, std::string_view architecture) {
  check_kind(path);
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
