// SPDX-License-Identifier: Apache-2.0
#include "image_root.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/error.h"
#include "base/say.h"
#include "kernel_squashfs.h"
#include "mounts.h"
#include "shared_image.h"
#include "squashfs.h"
#include "unpack.h"

namespace longship::box {
namespace {

bool same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// LONGSHIP_SQUASHFS forces a way, for tests and for machines where the best one misbehaves.
std::optional<Way> forced_way() {
  const char* word = std::getenv("LONGSHIP_SQUASHFS");
  if (word == nullptr || *word == '\0') return {};
  for (const Way way : {Way::kernel, Way::fuse, Way::unpacked})
    if (name_of(way) == word) return way;
  throw Error(Failure::usage, "LONGSHIP_SQUASHFS is \"{}\": it can be kernel, fuse or unpacked", word);
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

ImageRoot::ImageRoot(const Spec& spec) {
  struct stat about = {}, host = {};
  if (::stat(spec.root.c_str(), &about) != 0)
    throw Error::from_errno(errno, "cannot use {}", spec.root.string());
  if (S_ISDIR(about.st_mode)) {
    directory_ = spec.root;
    is_host_ = ::stat("/", &host) == 0 && same_file(about, host);
    return;
  }
  const Fd image(::open(spec.root.c_str(), O_RDONLY | O_CLOEXEC));
  if (!image) throw Error::from_errno(errno, "cannot open {}", spec.root.string());
  if (!S_ISREG(about.st_mode) || !is_squashfs(image.get()))
    throw Error("{} is neither a directory nor a SquashFS file", spec.root.string());
  if (!share(spec, image.get())) {
    choose(spec, image.get());
    explain("{}: {}", spec.root.string(), name_of(way_));
  }
}

// One mount for all boxes of the node, where the machine allows that.
bool ImageRoot::share(const Spec& spec, int image) {
  if (!spec.share) return false;
  const auto forced = forced_way();
  const bool kernel = forced ? *forced == Way::kernel : ::geteuid() == 0;
  const bool fuse = (!forced || *forced == Way::fuse) && why_no_fuse().empty();
  if (!kernel && !fuse) return false;
  SharedMount shared = share_mount(image, spec.root, kernel, fuse);
  if (!shared.mount) {
    explain("{} is mounted for this box alone: {}", spec.root.string(), shared.obstacle);
    return false;
  }
  way_ = shared.way;
  tree_ = std::move(shared.mount);
  is_mount_ = true;
  explain("{}: {}, one mount for all boxes on this machine, {} process {}", spec.root.string(), name_of(way_),
          shared.is_new ? "now kept by" : "kept by", shared.keeper);
  return true;
}

void ImageRoot::choose(const Spec& spec, int image) {
  const auto forced = forced_way();
  const auto may_be = [&](Way way) { return !forced || *forced == way; };
  std::string reasons;
  if (may_be(Way::kernel) && (::geteuid() == 0 || forced)) {
    try {
      tree_ = mount_by_kernel(image);
      is_mount_ = true;
      way_ = Way::kernel;
      return;
    } catch (const Error& error) {
      if (forced) throw;
      explain("not mounted by the kernel: {}", error.what());
      reasons = fmt::format("{}; ", error.what());
    }
  }
  if (may_be(Way::fuse)) {
    const std::string obstacle = why_no_fuse();
    if (obstacle.empty()) {
      server_ =
          FuseServer(image, spec.root, spec.fake_root ? 0 : ::geteuid(), spec.fake_root ? 0 : ::getegid());
      way_ = Way::fuse;
      return;
    }
    if (forced) throw Error(Failure::impossible, "no FUSE: {}", obstacle);
    explain("not mounted through FUSE: {}", obstacle);
    reasons += obstacle;
  }
  if (spec.unpacked.empty())
    throw Error(Failure::impossible,
                "nothing here may mount a SquashFS file ({}) and there is no place to unpack it: ask the "
                "administrator "
                "for \"chmod 666 /dev/fuse\"",
                reasons);
  directory_ = unpacked(image, spec.root, spec.unpacked);
  way_ = Way::unpacked;
}

void ImageRoot::open_inside() {
  if (directory_.empty()) return;
  tree_.reset(::open(directory_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!tree_) throw Error::from_errno(errno, "cannot open {}", directory_.string());
}

std::string ImageRoot::mount(const std::string& place, const std::string& dev, const std::string& proc) {
  if (is_mount_)
    attach(tree_.get(), place);
  else if (way_ == Way::fuse)
    server_.mount_at(place, dev + "/fuse");
  else
    return path_of(tree_.get(), proc);
  return place;
}

}  // namespace longship::box
