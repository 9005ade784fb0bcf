// SPDX-License-Identifier: Apache-2.0
// Root enough for apt, dpkg and rpm where only one user id exists.
#pragma once

namespace longship::box {

// From here on, for this process and all it starts: calls that give files or processes to other users, and
// mknod of devices, do nothing and say that they succeeded. Nothing else changes; the files of a build all
// belong to root.
void pretend_to_be_root();

}  // namespace longship::box
