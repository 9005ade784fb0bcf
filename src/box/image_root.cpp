// SPDX-License-Identifier: Apache-2.0
#include "image_root.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "fuse_device.h"
#include "mounts.h"

namespace longship::box {
namespace fs = std::filesystem;
namespace {

bool is_host_root(const fs::path& directory) {
  struct stat about = {}, host = {};
  return ::stat(directory.c_str(), &about) == 0 && ::stat("/", &host) == 0 && about.st_dev == host.st_dev &&
         about.st_ino == host.st_ino;
}

// Does it begin as a SquashFS file does?
bool is_squashfs(int file) {
  char magic[4];
  return ::pread(file, magic, sizeof magic, 0) == sizeof magic &&
         std::memcmp(magic, "hsqs", sizeof magic) == 0;
}

}  // namespace

std::string_view name_of(Way way) {
  switch (way) {
    case Way::kernel:
      return "kernel";
    case Way::fuse:
      return "fuse";
    case Way::unpacked:
      return "unpacked";
    default:
      return "directory";
  }
}

std::optional<Way> forced_way() {
  const char* word = std::getenv("LONGSHIP_SQUASHFS");
  if (word == nullptr || *word == '\0') return {};
  for (const Way way : {Way::kernel, Way::fuse, Way::unpacked})
    if (name_of(way) == word) return way;
  throw Error(Failure::usage, "LONGSHIP_SQUASHFS is \"{}\": it can be kernel, fuse or unpacked", word);
}

Ways ways_to_share(const Spec& spec) {
  if (!spec.share) return {};
  const auto forced = forced_way();
  return {.kernel = forced ? *forced == Way::kernel : ::geteuid() == 0,
          .fuse = (!forced || *forced == Way::fuse) && why_no_fuse().empty()};
}

GivenRoot open_root(const fs::path& path) {
  struct stat about = {};
  if (::stat(path.c_str(), &about) != 0) throw Error::from_errno(errno, "cannot use {}", path.string());
  if (S_ISDIR(about.st_mode)) return {path};
  GivenRoot given = {path, {}};
  if (S_ISREG(about.st_mode)) {  // to open a pipe would wait for who writes
    given.squashfs.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!given.squashfs) throw Error::from_errno(errno, "cannot open {}", path.string());
  }
  if (!given.squashfs || !is_squashfs(given.squashfs.get()))
    throw Error("{} is neither a directory nor a SquashFS file", path.string());
  return given;
}

std::optional<ImageRoot> ready_root(const Spec& spec, const GivenRoot& given) {
  if (!given.squashfs) return ImageRoot(Way::directory, given.path);
  Asked asked = ask_for_mount(given.squashfs.get(), given.path, ways_to_share(spec));
  if (!asked.connection) return {};
  return ImageRoot(std::move(asked));
}

ImageRoot::ImageRoot(Way way, fs::path directory)
    : way_(way), directory_(std::move(directory)), is_host_(is_host_root(directory_)) {}

ImageRoot::ImageRoot(Way way, Fd mount) : way_(way), tree_(std::move(mount)) {}

ImageRoot::ImageRoot(Way way, MountAt mount_at) : way_(way), mount_at_(std::move(mount_at)) {}

ImageRoot::ImageRoot(Asked asked) : asked_(std::move(asked)) {}

void ImageRoot::open_inside() {
  if (asked_) take_answer();
  if (directory_.empty()) return;
  tree_.reset(::open(directory_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!tree_) throw Error::from_errno(errno, "cannot open {}", directory_.string());
}

void ImageRoot::take_answer() {
  SharedMount shared = answer_to(*asked_);
  if (!shared.mount) throw NotGiven();
  tell_of(shared, asked_->image);
  leave_namespace_to_keeper(asked_->connection.get());
  way_ = shared.way;
  tree_ = std::move(shared.mount);
}

std::string ImageRoot::mount(const std::string& place, const std::string& dev, const std::string& proc) {
  if (!directory_.empty()) return path_of(tree_.get(), proc);
  if (mount_at_)
    mount_at_(place, dev + "/fuse");
  else
    attach(tree_.get(), place);
  return place;
}

}  // namespace longship::box
