// SPDX-License-Identifier: Apache-2.0
#include "import.h"

#include "base/error.h"
#include "make.h"
#include "open_image.h"

namespace longship::image {
namespace {

store::Image make(store::Store& store, OciImage source, store::Image image, Progress& progress) {
  progress.begin("converting", 0, "B");
  image.config = std::move(source.config);
  image = make_image(store, std::move(image), std::move(source.layers));
  progress.end();
  return image;
}

}  // namespace

store::Image import(store::Store& store, const std::filesystem::path& path, const std::string& name,
                    Progress& progress, std::string_view architecture) {
  store::validate_name(name);
  return within("cannot import " + path.string(), [&] {
    std::uint64_t done = 0;
    OpenedImage opened = open_image(
        path, [&](std::size_t bytes) { progress.update(done += bytes); }, architecture);
    store::Image image;
    image.name = name;
    image.origin = "import " + path.filename().string();
    return make(store, std::move(opened.image), std::move(image), progress);
  });
}

store::Image import_layout(store::Store& store, const Layout& layout, store::Image image,
                           Progress& progress) {
  std::uint64_t done = 0;
  auto source = read_layout(layout, [&](std::size_t bytes) { progress.update(done += bytes); });
  if (!source) throw Error("it is no OCI layout");
  return make(store, std::move(*source), std::move(image), progress);
}

}  // namespace longship::image
