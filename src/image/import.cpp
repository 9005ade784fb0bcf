// SPDX-License-Identifier: Apache-2.0
#include "import.h"

#include <fcntl.h>

#include "base/error.h"
#include "base/file.h"
#include "make.h"
#include "oci.h"

namespace longship::image {
namespace {
namespace fs = std::filesystem;

struct Found {
  std::unique_ptr<Layout> layout;  // the layers read from it
  OciImage image;
};

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

Found look_at(const fs::path& path, const BytesRead& progress) {
  Found found;
  if (!fs::is_directory(path) && is_squashfs(path)) {
    found.image.layers.push_back(squashfs_layer(path, false));
    return found;
  }
  found.layout = fs::is_directory(path) ? directory_layout(path) : tar_layout(path);
  if (auto image = read_layout(*found.layout, progress)) {
    found.image = std::move(*image);
  } else if (fs::is_directory(path)) {
    found.image.layers.push_back(directory_layer(path));
  } else {
    found.image = plain_tar(path, progress);
  }
  return found;
}

}  // namespace

store::Image import(store::Store& store, const fs::path& path, const std::string& name, Progress& progress,
                    const std::string& origin) {
  store::validate_name(name);
  return within(origin.empty() ? "cannot import " + path.string() : "cannot " + origin, [&] {
    if (!fs::exists(path)) throw Error("there is no such file or directory");
    std::uint64_t done = 0;
    Found found = look_at(path, [&](std::size_t bytes) { progress.update(done += bytes); });
    progress.begin("converting", 0, "B");
    store::Image image;
    image.name = name;
    image.origin = origin.empty() ? "import " + path.filename().string() : origin;
    image.config = found.image.config;
    image = make_image(store, std::move(image), std::move(found.image.layers));
    progress.end();
    return image;
  });
}

}  // namespace longship::image
