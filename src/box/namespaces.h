// SPDX-License-Identifier: Apache-2.0
// A mount namespace of one's own, and the user namespace that makes it possible without root.
//
// An ordinary user makes both at once, mapped to itself (or to 0), and may then mount. Real root mounts
// first, in a mount namespace alone, because the kernel lends loop devices and SquashFS to nobody else; only
// then it steps down into a user namespace in which all ids mean what they meant, and loses its power over
// the machine.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string>

namespace longship::box {

enum class Power {
  ordinary,  // in a new user namespace already
  root,      // may mount by itself; step_down() is still to come
};

// Into a new mount namespace from which nothing leaks to the host. Error with Failure::impossible and the
// remedy.
Power enter_mount_namespace(bool fake_root);

// Real root gives up its power over the host, if the machine lets it; needs /proc.
void step_down();

// Until it executes something, this process is our own program with our own descriptors, some of them the
// host's: those who are in the box already, and are the same user, may not look into it.
void hide_from_the_box();

// What stops user namespaces here, as far as the system's settings under `proc` tell, and what to ask for.
[[nodiscard]] std::string remedy_for(int number, const std::filesystem::path& proc = "/proc");

}  // namespace longship::box
