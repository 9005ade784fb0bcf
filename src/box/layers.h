// SPDX-License-Identifier: Apache-2.0
// A read-only image with what it lacks: mount points for the host's directories, and a few small files of the
// host.
//
// Nothing is ever written to the image. What is missing is made in a tmpfs, the skeleton, and laid over the
// image:
//   overlay    skeleton : image as the two lower layers of a read-only overlay; Linux 5.11 lets users do that
//   underlay   where overlay is refused: a directory that lacks something is replaced by a tmpfs with the
//   same names
//              in it, each bound to the image's; slower, and the same to look at
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace longship::box {

struct Additions {
  std::vector<std::string> directories;  // mount points: made if not there
  std::vector<std::string> files;        // mount points that are files
  struct Content {
    std::string path, bytes;
  };
  std::vector<Content> contents;  // instead of the image's
};

// Where a writable box writes: opened on the host, for that is the only place where its path means something.
struct Upper {
  Fd content, work;
};
[[nodiscard]] Upper open_upper(const std::string& content, const std::string& work);

struct Layers {
  std::string image;              // as a path that mount(2) follows
  std::string workshop;           // an empty, writable directory on a tmpfs
  std::string root;               // where the result is to be mounted: an empty directory
  std::string proc;               // where /proc is at the moment
  const Upper* upper = nullptr;   // none: read-only
  std::string name = "longship";  // of the overlay, in tables of mounts
};

// LONGSHIP_ROOT=underlay forces the second way, for its tests.
void lay_over(const Layers& layers, const Additions& additions, bool overlay_allowed);

// Why this file system cannot hold an overlay's upper layer, by its statfs magic; nothing if it may.
[[nodiscard]] std::string_view unfit_for_upper(long magic);

}  // namespace longship::box
