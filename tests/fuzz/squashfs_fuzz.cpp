// SPDX-License-Identifier: Apache-2.0
// A SquashFS file of any bytes is read as a layer, looked into as FUSE does it, and unpacked into a
// directory, or refused with an Error.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.h"
#include "base/file.h"
#include "box/checked_squashfs.h"
#include "box/squashfs_path.h"
#include "box/unpack.h"
#include "fuzz/input.h"
#include "image/layer.h"

namespace {

using namespace longship;

class Checking final : public image::MemberSink {
 public:
  void add(const image::Member& member, image::ByteSource& content) override {
    if (member.path != image::normal_path(member.path)) std::abort();
    if (++members_ > 1000) throw Error("enough");
    char piece[4096];
    for (int i = 0; i < 16 && member.kind == image::Kind::file; ++i)
      if (content.read(piece, sizeof piece) == 0) break;
  }

 private:
  int members_ = 0;
};

// What a kernel may ask for: names that are there and not, directories from the middle, any part of a file.
void look_into(int file) {
  box::SquashFs image(file, "fuzz");
  box::DirectoryEntry entry, other;
  sqfs_inode root = {}, inode = {};
  sqfs_dir walk;
  sqfs_err problem = SQFS_OK;
  char piece[5000];
  if (!box::get_inode(image, sqfs_inode_root(image.get()), root)) return;
  for (const sqfs_off_t from : {0, 40, 10'000}) {
    if (!box::open_directory(image, root, from, walk)) continue;
    for (int i = 0; i < 100 && sqfs_dir_next(image.get(), &walk, entry.get(), &problem); ++i) {
      bool found = false;
      if (!box::look_up(image, root, sqfs_dentry_name(entry.get()), other, found) || !found) continue;
      if (!box::get_inode(image, sqfs_dentry_inode(other.get()), inode)) continue;
      std::size_t target = sizeof piece;
      static_cast<void>(sqfs_readlink(image.get(), &inode, piece, &target));
      static_cast<void>(box::find_file(image, sqfs_dentry_name(entry.get())));
      static_cast<void>(box::prepare_content(image, inode, 4096));
      for (const std::uint64_t start : {0, 3, 4096, 8191}) {
        std::size_t size = sizeof piece;
        if (box::read_content(image, inode, start, piece, size) && size > sizeof piece) std::abort();
      }
    }
  }
}

// Not what stands for terabytes: that is refused elsewhere, and a fuzzer has no time for it.
bool is_small(std::string_view bytes) {
  return bytes.size() < 16384;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = fuzz::text_of(data, size);
  static const int file = ::memfd_create("image", MFD_CLOEXEC);
  if (!is_small(bytes) || ::ftruncate(file, 0) != 0 || ::pwrite(file, bytes.data(), bytes.size(), 0) < 0)
    return 0;
  const auto path = "/proc/self/fd/" + std::to_string(file);
  try {
    Checking sink;
    image::squashfs_layer(path, false)->read(sink);
  } catch (const Error&) {
  }
  try {
    look_into(file);
    const TemporaryDirectory directory("longship-fuzz", "/dev/shm");
    box::unpack(file, path, open_file(directory.path(), O_RDONLY | O_DIRECTORY).get());
  } catch (const Error&) {
  }
  return 0;
}
