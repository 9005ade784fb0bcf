// SPDX-License-Identifier: Apache-2.0
// The image as a tree: a directory as it is, a SquashFS file by the best way that this machine allows.
//
// Chosen and begun outside the box, finished inside: a FUSE server must not live in the box's namespaces, and
// only outside them may the kernel mount for root.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/fd.h"
#include "box.h"
#include "shared_image.h"

namespace longship::box {

class ImageRoot {
 public:
  // Mounts at a place, with the host's /dev/fuse where it is now.
  using MountAt = std::function<void(const std::string& place, const std::string& device)>;

  ImageRoot(Way way, std::filesystem::path directory);
  ImageRoot(Way way, Fd mount);  // attached nowhere yet
  ImageRoot(Way way, MountAt mount_at);
  explicit ImageRoot(Asked asked);  // a mount that another box shares, whose keeper has yet to answer

  [[nodiscard]] Way way() const { return way_; }
  [[nodiscard]] bool is_host() const { return is_host_; }  // the host's own "/", with all its mounts

  // In the new namespaces, with the host's tree still in place: a directory can only be bound from there, and
  // a keeper that was asked wakes up while they are made. NotGiven if it has no mount for us.
  void open_inside();
  struct NotGiven {};
  // Makes the tree reachable: a path of it, under `place` if it has to be mounted, with the host's /dev and
  // /proc where they are now.
  [[nodiscard]] std::string mount(const std::string& place, const std::string& dev, const std::string& proc);

 private:
  void take_answer();

  Way way_ = Way::fuse;
  std::optional<Asked> asked_;
  std::filesystem::path directory_;
  bool is_host_ = false;
  Fd tree_;  // the directory, or the mount
  MountAt mount_at_;
};

// What a user gave as the root: a directory, or else a SquashFS file, which is open then.
struct GivenRoot {
  std::filesystem::path path;
  Fd squashfs = {};
};
[[nodiscard]] GivenRoot open_root(const std::filesystem::path& path);

// What needs no further process: a directory, or the mount of a SquashFS file that another box shares.
[[nodiscard]] std::optional<ImageRoot> ready_root(const Spec& spec, const GivenRoot& given);

// Whatever it is. Forks where a server is needed, and unpacks where nothing else works.
[[nodiscard]] ImageRoot choose_root(const Spec& spec);

// LONGSHIP_SQUASHFS forces a way, for tests and for machines where the best one misbehaves.
[[nodiscard]] std::optional<Way> forced_way();
// By which boxes may share a mount; none if this one is not to share.
[[nodiscard]] Ways ways_to_share(const Spec& spec);

}  // namespace longship::box
