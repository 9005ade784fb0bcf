// SPDX-License-Identifier: Apache-2.0
// One mount of a SquashFS image for all boxes of a node, so that the second one starts as fast as from a
// directory and finds in memory what the first has read.
//
//   box ── asks ──▶ keeper, in namespaces of its own, where the image is mounted
//       ◀─ a copy of the mount, attached nowhere yet (open_tree), which the box moves to its own place
//
// The keeper is forked by the first box that finds none, and waits a while for the next when the last one has
// ended. Then it takes its own mount away, and a FUSE server in it answers on as long as a process is left in
// any of the boxes; the kernel tells it when. The kernel's mounts need nobody.
//
// Only boxes that would be killed together share: the batch system ends a job step, or the login manager a
// session, with all its processes, and the files of everybody else's boxes must not end with them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "box.h"

namespace longship::box {

struct SharedMount {
  Fd mount;              // none: every box has to mount for itself,
  std::string obstacle;  // for this reason
  Way way = Way::fuse;   // kernel or fuse
  bool is_new = false;   // nobody kept it before
  int keeper = 0;        // its process
};

// `kernel`: may the kernel mount it? `fuse`: may FUSE? Forks: needs a process with one thread.
[[nodiscard]] SharedMount share_mount(int image, const std::string& name, bool kernel, bool fuse);

namespace detail {
// A number for all who are killed together: control groups (the text of /proc/self/cgroup) are how a machine
// ends processes. Slurm's tasks have one each, but end as a step.
[[nodiscard]] std::uint64_t fate_of(std::string_view groups);
}  // namespace detail

}  // namespace longship::box
