// SPDX-License-Identifier: Apache-2.0
// For a process that stays beside somebody else's work: it takes little memory, and what it needed once, and
// not now, goes back.
#pragma once

namespace longship::box {

// To be called before threads are started.
void use_little_memory();

// Free memory to the kernel, and the pages of the program too: those that are needed come back by themselves.
void give_back_memory();

}  // namespace longship::box
