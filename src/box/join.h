// SPDX-License-Identifier: Apache-2.0
// One box for several processes that have no common parent, such as the tasks that a batch system starts: the
// first makes it, the others come in. They then share user and mount namespace, so that ranks of an MPI
// program may read each other's memory (cross-memory attach).
//
// They meet by name (meeting.h). The keeper is forked by the first one, hands the namespaces to whoever
// comes, and ends with the last of them. After kill -9 of the keeper those inside go on, and the next one
// makes a box of its own.
#pragma once
#include <string>

#include "base/fd.h"
#include "box.h"
#include "meeting.h"

namespace longship::box {

// A name that a user may choose.
void check_name(const std::string& name);

Way join(Meeting& meeting);  // if it is open: into the box

// What a member is given: the namespaces, the root within them, and how the image is mounted.
struct Gifts {
  Fd user, mounts, root;
};
[[nodiscard]] Gifts receive_gifts(int socket, Way& way);

}  // namespace longship::box
