// SPDX-License-Identifier: Apache-2.0
// Whose turn it is where a program has more threads than the machine has cores, and not all are equally
// urgent. Each is about the thread that calls it, asks for no privileges, and changes nothing where the
// kernel refuses or does not know it.
#pragma once

namespace longship {

// For who has little to do at a time, and others wait for it: the kernel lets such a thread in at once,
// whoever computes on its core meanwhile. Since Linux 6.12; it gets no more time than others by this.
// Threads that it starts want short turns too.
void take_short_turns();

// For who has always something to do: the other threads come first when they have. It cannot be taken back.
void give_way();

}  // namespace longship
