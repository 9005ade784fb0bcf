// SPDX-License-Identifier: Apache-2.0
// A base image from this machine's own package sources, by mmdebstrap: for sites without a registry. What it
// makes is a tar on a pipe, which becomes the image as it comes.
#pragma once
#include <string>
#include <vector>

#include "base/progress.h"
#include "store/store.h"

namespace longship::image {

struct Bootstrap {
  std::string system;                 // "debian:bookworm"
  std::string name;                   // of the image
  std::vector<std::string> packages;  // beside what every Debian has
  std::string mirror;                 // instead of this machine's own sources
};

store::Image bootstrap(store::Store& store, const Bootstrap& wish, Progress& progress);

// How mmdebstrap can become root in the new system; an Error with the remedy if in no way.
struct MachineForBootstrap {
  bool root = false;
  bool subordinate_ids = false;  // a range in /etc/subuid, and newuidmap
  bool fakechroot = false;       // fakechroot and fakeroot
};
[[nodiscard]] std::string bootstrap_mode(const MachineForBootstrap& machine);

}  // namespace longship::image
