// SPDX-License-Identifier: Apache-2.0
// A place on this machine where helpers reach their launcher, also from a box or an engine's container: a
// socket whose name is the kernel's alone (unix(7), "abstract"). No file is left, whoever is killed, and
// nothing has to be let in. Everybody may knock, so both sides look who the other is.
#pragma once
#include <string>

#include "base/fd.h"

namespace longship::launch {

struct Reception {
  Reception();
  std::string name;  // random
  Fd socket;
};

// For the launcher: the next that came, if it is the user's own.
[[nodiscard]] Fd admit_helper(int reception);
// For a helper. Error if nobody is there, or somebody else.
[[nodiscard]] Fd reach_launcher(const std::string& name);

// The directory of the helper's program in a box or container.
inline constexpr const char* helper_in_the_box = "/run/longship/bin";

}  // namespace longship::launch
