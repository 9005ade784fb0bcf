// SPDX-License-Identifier: Apache-2.0
// A process inside an image: its own user and mount namespace, the image as its root, the host's /proc, /sys,
// /dev, home and working directory let in. No root, no daemon, no setuid program.
//
// enter() changes the calling process, which must have one thread; what it starts afterwards is inside. That
// is how all ranks of a node share one box: the node's helper enters, then forks them. Everything disappears
// with the last process inside, also after kill -9: mounts belong to the namespace, a FUSE server ends when
// its mount does.
//
// docs/containers.md tells users what a box is; enter.cpp has the steps.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"

namespace longship::box {

struct Bind {
  std::filesystem::path from;  // on the host
  std::filesystem::path to;    // in the box; a place is made over the image if it has none
  bool read_only = false;
  bool optional = false;  // silently left out if `from` is not there
};

enum class Writable {
  no,
  temporary,  // an overlay on a tmpfs, or on a local disk below Spec::upper: what is written is gone
              // afterwards
  directory,  // an overlay whose upper layer is Spec::upper, kept: that is how an image build captures a step
};

struct Spec {
  std::filesystem::path root;  // a directory, or a SquashFS file
  std::vector<Bind> binds;
  bool home = true;          // the caller's home directory, if it has one
  bool private_tmp = false;  // an empty /tmp instead of the host's
  Writable writable = Writable::no;
  // With Writable::temporary: a directory on a local disk, in which one for this box is made (scratch.h).
  // With Writable::directory: an empty directory on a local disk, which becomes the upper layer. Whiteouts
  // are character devices 0/0, replaced directories carry user.overlay.opaque. `upper` + ".work" is made
  // beside it.
  std::filesystem::path upper;
  // The mount of a SquashFS file, with all boxes of this user here; not worth it for an image that is used
  // once.
  bool share = true;
  // Where to keep unpacked SquashFS images, if neither the kernel nor FUSE may mount them.
  std::filesystem::path unpacked;
  // User 0 inside, and chown, mknod, setuid … pretend to succeed: for package managers in a build.
  bool fake_root = false;
  // Inside. Empty: the caller's, which is let in if the image has none of that name, else "/".
  std::string working_directory;
  // A name: whoever enters a box of this name while it lasts comes into the same one, made by the first (the
  // rest of its spec counts). Empty: a box of its own. join.h tells how.
  std::string join = {};
  // The program that is going to be started, as it was typed: an image that is mounted for it makes its files
  // ready. Empty: not known.
  std::string command = {};
};

// How a SquashFS root was made visible; `longship -v` and doctor tell.
enum class Way { directory, kernel, fuse, unpacked };
[[nodiscard]] std::string_view name_of(Way way);

// After an Error the process may be half inside and can only exit. Error with Failure::impossible and the
// remedy where this machine does not allow it (no user namespaces).
Way enter(const Spec& spec);

// The environment of a boxed process: the image's, over it what the host's batch system, MPI launcher and
// Longship set, over that `chosen` (--env, [env]). The rule is in docs/containers.md.
[[nodiscard]] Environment boxed_environment(const Environment& image, const Environment& host,
                                            const Environment& chosen);

// Whether this process is the keeper of a box, or of an image's mount, that several share (join.h,
// shared_image.h): whoever cleans up after ranks lets it be, for others may still need it, and it ends by
// itself.
[[nodiscard]] bool is_keeper(pid_t process);

// The directories in which a batch system's PMIx server is reached, as its variables name them: an MPI rank
// in a box needs them.
[[nodiscard]] std::vector<Bind> launcher_directories(const Environment& host);

// Replaces the process; looked up in the box's PATH. Exit codes as a shell: 127 not found, 126 not
// executable.
[[noreturn]] void execute(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace longship::box
