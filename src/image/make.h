// SPDX-License-Identifier: Apache-2.0
// From layers to an image in the store: what bootstrap, import and build have in common.
#pragma once
#include <memory>
#include <vector>

#include "image_writer.h"
#include "layer.h"
#include "store/store.h"

namespace longship::image {

using Layers = std::vector<std::unique_ptr<Layer>>;  // the lowest first, as manifests have them

// Writes one SquashFS file of all layers aside, fills in what was found by looking, gives it its name.
// Nothing stays behind if it fails.
store::Image make_image(store::Store& store, store::Image description, Layers layers);

// Top down through one writer; what the image is.
struct Content {
  std::uint64_t files = 0;
  store::Facts facts;
};
Content write_layers(ImageWriter& writer, Layers& layers);
Content write_squashfs(int fd, Layers& layers);  // an empty file, open for reading and writing

// The same without a name yet: from nothing, and as changes to an image that is in the store.
struct Written {
  store::Image image;
  store::Aside file;
};
[[nodiscard]] Written new_image(const store::Store& store, store::Image description, Layers layers);
[[nodiscard]] Written change_image(const store::Store& store, const store::Image& base, Layers changes);

}  // namespace longship::image
