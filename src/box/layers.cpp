// SPDX-License-Identifier: Apache-2.0
#include "layers.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "mounts.h"
#include "place.h"
#include "underlay.h"

namespace longship::box {
namespace {

Fd open_tree_at(const std::string& path) {
  Fd tree(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!tree) throw Error::from_errno(errno, "cannot open the image's tree");
  return tree;
}

// The uppermost layer. Its directories shadow the image's of the same name, so they take over their modes.
class Skeleton {
 public:
  Skeleton(int image, const std::string& at) : image_(image) {
    if (::mkdir(at.c_str(), 0755) != 0) throw Error::from_errno(errno, "cannot make {}", at);
    tree_ = open_tree_at(at);
  }

  void add(const Additions& additions) {
    for (const auto& path : additions.directories)
      if (const Place place = find_place(image_, path); !place.exists) make_directories(place.path);
    for (const auto& path : additions.files)
      if (const Place place = find_place(image_, path); !place.exists) make_file(place.path, "");
    for (const auto& content : additions.contents) add_content(content);
  }

 private:
  // Over a link (/etc/resolv.conf -> /run/…) too: the name itself is given the content.
  void add_content(const Additions::Content& content) {
    const std::filesystem::path path(content.path);
    const Place directory = find_place(image_, path.parent_path().string());
    make_file(directory.path + "/" + path.filename().string(), content.bytes);
  }

  void make_directories(const std::string& path) {
    for (std::size_t end = path.find('/');; end = path.find('/', end + 1)) {
      const std::string part = path.substr(0, end);
      if (!part.empty() && ::mkdirat(tree_.get(), part.c_str(), 0755) == 0) {
        struct stat seen = {};
        if (::fstatat(image_, part.c_str(), &seen, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(seen.st_mode))
          ::fchmodat(tree_.get(), part.c_str(), seen.st_mode & 07777, 0);
      } else if (!part.empty() && errno != EEXIST) {
        throw Error::from_errno(errno, "cannot make a place for /{}", printable(path));
      }
      if (end == std::string::npos) return;
    }
  }

  void make_file(const std::string& path, std::string_view bytes) {
    if (const auto slash = path.rfind('/'); slash != std::string::npos)
      make_directories(path.substr(0, slash));
    const Fd file(::openat(tree_.get(), path.c_str() + (path.starts_with('/') ? 1 : 0),
                           O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!file) throw Error::from_errno(errno, "cannot make a place for /{}", printable(path));
    write_all(file.get(), bytes);
  }

  int image_;
  Fd tree_;
};

// Colons and commas mean something in overlay's options; descriptors as paths have none.
void mount_overlay(const Layers& layers, const std::string& skeleton) {
  std::string options = "lowerdir=" + skeleton + ":" + layers.image;
  unsigned long flags = MS_RDONLY | MS_NODEV;
  if (layers.upper != nullptr) {
    options += ",upperdir=" + path_of(layers.upper->content.get(), layers.proc) +
               ",workdir=" + path_of(layers.upper->work.get(), layers.proc) + ",userxattr";
    flags = MS_NODEV;
  }
  if (::mount(layers.name.c_str(), layers.root.c_str(), "overlay", flags, options.c_str()) != 0)
    throw Error::from_errno(errno, "overlay");
}

bool underlay_forced() {
  const char* word = std::getenv("LONGSHIP_ROOT");
  return word != nullptr && std::strcmp(word, "underlay") == 0;
}

}  // namespace

void lay_over(const Layers& layers, const Additions& additions, bool overlay_allowed) {
  const Fd image = open_tree_at(layers.image);
  std::string refused = underlay_forced() ? "LONGSHIP_ROOT says underlay" : "the root is the host's own";
  if (overlay_allowed && !underlay_forced()) {
    const std::string skeleton = layers.workshop + "/skeleton";
    Skeleton(image.get(), skeleton).add(additions);
    try {
      mount_overlay(layers, skeleton);
      return;
    } catch (const Error& error) {
      refused = error.what();
    }
  }
  if (layers.upper != nullptr)
    throw Error(
        Failure::impossible,
        "a writable box needs an overlay file system in a user namespace, which is refused here ({}): Linux "
        "5.11 or newer allows it",
        refused);
  explain("no overlay ({}): mount points by binds", refused);
  underlay(layers, additions);
}

Upper open_upper(const std::string& content, const std::string& work) {
  for (const auto& directory : {content, work})
    if (::mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST)
      throw Error::from_errno(errno, "cannot make {}", directory);
  return {open_tree_at(content), open_tree_at(work)};
}

std::string_view unfit_for_upper(long magic) {
  switch (static_cast<unsigned long>(magic) &
          0xffffffffUL) {  // statfs(2), linux/magic.h, or the makers' sources
    case 0x6969:
      return "NFS";
    case 0x0bd00bd0:
      return "Lustre";
    case 0x47504653:
      return "GPFS";
    case 0x19830326:
      return "BeeGFS";
    case 0x00c36400:
      return "CephFS";
    case 0xaad7aaea:
      return "PanFS";
    case 0x20030528:
      return "OrangeFS";
    case 0x01161970:
      return "GFS2";
    case 0x7461636f:
      return "OCFS2";
    case 0x5346414f:
    case 0x6b414653:
      return "AFS";
    case 0xff534d42:
      return "CIFS";
    case 0xfe534d42:
      return "SMB";
    case 0x01021997:
      return "9p";
    case 0x65735546:
      return "FUSE";
    case 0x794c7630:
      return "an overlay itself";
    case 0x73717368:
      return "SquashFS";
    case 0x4d44:
      return "FAT";
    default:
      return {};
  }
}

}  // namespace longship::box
