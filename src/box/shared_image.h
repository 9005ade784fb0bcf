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
#include <chrono>
#include <functional>
#include <string>

#include "base/fd.h"
#include "box.h"
#include "image_identity.h"
#include "meeting.h"

namespace longship::box {

struct SharedMount {
  Fd mount;              // none: every box has to mount for itself,
  std::string obstacle;  // for this reason
  Way way = Way::fuse;   // kernel or fuse
  bool is_new = false;   // nobody kept it before
  int keeper = 0;        // its process
};

// A keeper that runs already is asked for a copy of its mount. It has to wake up first: whoever has something
// else to do does that before taking the answer.
struct Asked {
  std::string image;
  Identity identity{};
  Fd connection;         // none: there is no keeper, or sharing is refused,
  std::string obstacle;  // or for this reason
  bool is_new = false;   // it was started for this
};
[[nodiscard]] Asked ask_for_mount(int image, std::string name, Ways ways);
// Neither a mount nor an obstacle: there is none to share.
[[nodiscard]] SharedMount answer_to(const Asked& asked);

// The same of a keeper that is started now, or was meanwhile; it needs a millisecond until it answers, or
// hangs up. `keep` is what its process does: image_keeper.h. Forks: needs a process with one thread.
using Keep = std::function<void(Meeting&, int image, const Identity&, std::chrono::milliseconds linger)>;
[[nodiscard]] Asked ask_new_keeper(int image, std::string name, Ways ways, const Keep& keep);
// Waits for the answer, and asks again if a keeper gave up.
[[nodiscard]] SharedMount share_mount(int image, const std::string& name, Ways ways, const Keep& keep);

// The mounts of a box are taken away with its last process, which waits for that, and all cores with it. Once
// the keeper has the namespace, too, it is the one who waits. In the box's own namespace; of no harm if it
// fails.
void leave_namespace_to_keeper(int connection);

void tell_of(const SharedMount& shared, const std::string& image);  // with -v

// What a keeper tells a box, beside the descriptor of its mount.
struct Answer {
  Identity identity{};
  Way way = Way::fuse;
  int keeper = 0;
  char problem[240] = {};  // if there is no descriptor
};
// False: the keeper hung up.
[[nodiscard]] bool take_mount(int connection, const Identity& wanted, SharedMount& shared);

[[nodiscard]] bool sharing_is_refused();  // LONGSHIP_SHARE=no

}  // namespace longship::box
