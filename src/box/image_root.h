// SPDX-License-Identifier: Apache-2.0
// The image as a tree: a directory as it is, a SquashFS file by the best way that this machine allows.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "base/fd.h"
#include "box.h"
#include "fuse_server.h"

namespace longship::box {

// Chosen and begun outside the box, finished inside: a FUSE server must not live in the box's namespaces, and
// only outside them may the kernel mount for root.
class ImageRoot {
 public:
  explicit ImageRoot(const Spec& spec);
  [[nodiscard]] Way way() const { return way_; }

  // In the new namespaces, with the host's tree still in place: a directory can only be bound from there.
  void open_inside();
  // Makes the tree reachable: a path of it, under `place` if it has to be mounted, with the host's /dev and
  // /proc where they are now.
  [[nodiscard]] std::string mount(const std::string& place, const std::string& dev, const std::string& proc);
  [[nodiscard]] bool is_host() const { return is_host_; }  // the host's own "/", with all its mounts

 private:
  void choose(const Spec& spec, int image);
  bool share(const Spec& spec, int image);

  Way way_ = Way::directory;
  std::filesystem::path directory_;
  bool is_host_ = false;
  Fd tree_;                // the directory, or the mount
  bool is_mount_ = false;  // attached nowhere yet
  FuseServer server_;
};

}  // namespace longship::box
