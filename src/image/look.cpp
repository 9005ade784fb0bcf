// SPDX-License-Identifier: Apache-2.0
#include "look.h"

#include <unistd.h>

#include "base/error.h"
#include "facts.h"
#include "layer.h"
#include "squashfs.h"

namespace longship::image {
namespace fs = std::filesystem;
namespace {

class Looking final : public MemberSink {
 public:
  void add(const Member& member, ByteSource& content) override {
    if (member.kind == Kind::file && FactFinder::wants(member))
      finder.look(member.path, read_rest(content, member.size));
  }
  FactFinder finder;
};

std::unique_ptr<Layer> layer_of(const fs::path& root) {
  if (!fs::is_directory(root)) {
    if (!is_squashfs(root))
      throw Error(
          "it is neither a directory nor a SquashFS file; of an archive `longship image import` makes one");
    return squashfs_layer(root, false);
  }
  return directory_layer(root, [root](const std::string& path, bool directory) {
    return ::access((root / path).c_str(), directory ? R_OK | X_OK : R_OK) != 0;
  });
}

}  // namespace

store::Facts look_at(const fs::path& root) {
  return within("cannot look at " + root.string(), [&] {
    Looking looking;
    layer_of(root)->read(looking);
    return looking.finder.found();
  });
}

}  // namespace longship::image
