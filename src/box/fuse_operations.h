// SPDX-License-Identifier: Apache-2.0
// What the FUSE server answers. A SquashFS file never changes, so the kernel is told to remember everything:
// names, names that are not there, attributes, links, directories, contents. Requests that only announce
// something (open, opendir, flush) are answered "not implemented", after which the kernel no longer sends
// them. Together that leaves a warm `import torch` 769 round trips of 11,400.
#pragma once
#include <sys/types.h>

#include "base/fd.h"
#include "head_start.h"

namespace longship::box {

struct Owner {
  uid_t user = 0;
  gid_t group = 0;
};

// Returns when the file system has been unmounted. `image` stays open meanwhile.
void answer_requests(Fd mount, int image, const Owner& owner, HeadStart& head_start);

}  // namespace longship::box
