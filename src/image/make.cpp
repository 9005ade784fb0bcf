// SPDX-License-Identifier: Apache-2.0
#include "make.h"

#include <fcntl.h>

#include "base/error.h"
#include "base/file.h"
#include "merge.h"
#include "squashfs_writer.h"

namespace longship::image {
namespace {

void describe(store::Image& image, Content content) {
  image.files = content.files;
  image.facts = std::move(content.facts);
}

}  // namespace

Content write_layers(ImageWriter& writer, Layers& layers) {
  Merge merge(writer);
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) merge.add_layer(**layer);
  const auto summary = merge.finish();
  return {summary.files, merge.facts()};
}

Content write_squashfs(int fd, Layers& layers) {
  SquashfsWriter writer(fd);
  return write_layers(writer, layers);
}

store::Image make_image(store::Store& store, store::Image description, Layers layers) {
  store::validate_name(description.name);
  Written written = new_image(store, std::move(description), std::move(layers));
  return store.add(std::move(written.image), std::move(written.file));
}

Written new_image(const store::Store& store, store::Image description, Layers layers) {
  Written written{std::move(description), store.aside()};
  describe(written.image, write_squashfs(written.file.fd(), layers));
  return written;
}

Written change_image(const store::Store& store, const store::Image& base, Layers changes) {
  Written written{base, store.aside()};
  written.image.created = 0;
  const auto root = store.root_of(base);
  const Fd old = open_file(root, O_RDONLY);
  SquashfsWriter writer(written.file.fd(), old.get());
  changes.insert(changes.begin(), squashfs_layer(root, true));
  describe(written.image, write_layers(writer, changes));
  return written;
}

}  // namespace longship::image
