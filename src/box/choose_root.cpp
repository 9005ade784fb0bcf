// SPDX-License-Identifier: Apache-2.0
// The half of image_root.h that mounts, serves or unpacks a SquashFS file, with all libraries that takes.
#include <unistd.h>

#include <memory>

#include "base/error.h"
#include "base/say.h"
#include "fuse_device.h"
#include "fuse_server.h"
#include "image_keeper.h"
#include "image_root.h"
#include "kernel_squashfs.h"
#include "shared_image.h"
#include "squashfs.h"
#include "unpack.h"

namespace longship::box {
namespace {

SharedMount find_or_share(int image, const Spec& spec, Ways ways) {
  SharedMount shared = answer_to(ask_for_mount(image, spec.root, ways));
  if (shared.mount || !shared.obstacle.empty()) return shared;
  if (sharing_is_refused()) {
    shared.obstacle = "LONGSHIP_SHARE says no";
    return shared;
  }
  try {
    const SquashFs readable(image, spec.root);  // here, where an error still reaches someone
  } catch (const Error& error) {
    shared.obstacle = error.what();
    return shared;
  }
  const auto keep = [&](Meeting& meeting, int file, const Identity& identity,
                        std::chrono::milliseconds linger) {
    keep_image(meeting, file, identity, linger, spec.command);
  };
  return share_mount(image, spec.root, ways, keep);
}

// One mount for all boxes of the node, where the machine allows that.
std::optional<ImageRoot> shared_root(const Spec& spec, int image) {
  const Ways ways = ways_to_share(spec);
  if (!ways.kernel && !ways.fuse) return {};
  SharedMount shared = find_or_share(image, spec, ways);
  if (!shared.mount) {
    explain("{} is mounted for this box alone: {}", spec.root.string(), shared.obstacle);
    return {};
  }
  tell_of(shared, spec.root);
  return ImageRoot(shared.way, std::move(shared.mount));
}

ImageRoot own_root(const Spec& spec, int image) {
  const auto forced = forced_way();
  const auto may_be = [&](Way way) { return !forced || *forced == way; };
  std::string reasons;
  if (may_be(Way::kernel) && (::geteuid() == 0 || forced)) {
    try {
      return {Way::kernel, mount_by_kernel(image)};
    } catch (const Error& error) {
      if (forced) throw;
      explain("not mounted by the kernel: {}", error.what());
      reasons = fmt::format("{}; ", error.what());
    }
  }
  if (may_be(Way::fuse)) {
    const std::string obstacle = why_no_fuse();
    if (obstacle.empty()) {
      const auto server = std::make_shared<FuseServer>(image, spec.root, spec.fake_root ? 0 : ::geteuid(),
                                                       spec.fake_root ? 0 : ::getegid(), spec.command);
      return {Way::fuse, [server](const std::string& place, const std::string& device) {
                server->mount_at(place, device);
              }};
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
  return {Way::unpacked, unpacked(image, spec.root, spec.unpacked)};
}

}  // namespace

ImageRoot choose_root(const Spec& spec) {
  const GivenRoot given = open_root(spec.root);
  if (!given.squashfs) return {Way::directory, given.path};
  if (auto shared = shared_root(spec, given.squashfs.get())) return std::move(*shared);
  ImageRoot own = own_root(spec, given.squashfs.get());
  explain("{}: {}", spec.root.string(), name_of(own.way()));
  return own;
}

}  // namespace longship::box
