// SPDX-License-Identifier: Apache-2.0
// The way into a box, step by step:
//   outside          who calls, which image, and how it can be mounted
//   namespaces       from here on nothing that is mounted concerns the host
//   workshop         an empty tmpfs becomes the root, the host hangs below it at /host: whatever is built in
//   the workshop
//                    cannot hide a directory of the host that is still needed
//   layers           the image with the mount points it lacks, at /root
//   fittings         the host's directories, bound there
//   exchange         /root becomes the root, workshop and host are gone
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/error.h"
#include "base/fd.h"
#include "box.h"
#include "fake_root.h"
#include "fittings.h"
#include "identity.h"
#include "image_root.h"
#include "join.h"
#include "layers.h"
#include "mounts.h"
#include "namespaces.h"
#include "scratch.h"

namespace longship::box {
namespace {

constexpr const char* workshop_at = "/tmp";  // any directory that every host has

void check(const Spec& spec) {
  if (spec.writable == Writable::no || spec.upper.empty()) return;
  struct statfs about = {};
  if (::statfs(spec.upper.c_str(), &about) != 0)
    throw Error::from_errno(errno, "cannot use {} for what the box writes", spec.upper.string());
  if (const auto name = unfit_for_upper(about.f_type); !name.empty())
    throw Error(
        Failure::impossible,
        "cannot use {} for what the box writes: it is on {}, which cannot carry an overlay, or slowly: "
        "choose a directory on a local disk, or leave it to memory",
        spec.upper.string(), name);
}

void open_workshop() {
  mount_tmpfs(workshop_at, "mode=0755");
  for (const char* directory : {"/host", "/image", "/layers", "/root"})
    if (::mkdir((std::string(workshop_at) + directory).c_str(), 0755) != 0)
      throw Error::from_errno(errno, "cannot make a directory in the workshop");
  exchange_root(workshop_at, "host");
}

// Where the box begins. A directory that was asked for must exist; the caller's own only may.
void go_to(const std::string& wanted, const std::string& callers) {
  if (!wanted.empty()) {
    if (::chdir(wanted.c_str()) != 0)
      throw Error::from_errno(errno, "cannot start in {}, the working directory", wanted);
  } else if (callers.empty() || ::chdir(callers.c_str()) != 0) {
    if (::chdir("/") != 0) throw Error::from_errno(errno, "cannot start in /");
  }
}

Way enter_steps(const Spec& spec) {
  check(spec);
  const Caller caller = find_caller();
  ImageRoot image(spec);
  std::optional<Scratch> scratch;
  if (spec.writable == Writable::temporary && !spec.upper.empty()) scratch.emplace(spec.upper);
  const Power power = enter_mount_namespace(spec.fake_root);
  image.open_inside();
  Fittings fittings(spec, caller);
  Upper upper;
  if (spec.writable == Writable::directory) upper = open_upper(spec.upper, spec.upper.string() + ".work");
  if (scratch) upper = scratch->open_upper();
  open_workshop();
  if (spec.writable == Writable::temporary && !scratch) upper = open_upper("/layers/upper", "/layers/work");
  const Layers layers = {.image = image.mount("/image", "/host/dev", "/host/proc"),
                         .workshop = "/layers",
                         .root = "/root",
                         .proc = "/host/proc",
                         .upper = spec.writable == Writable::no ? nullptr : &upper,
                         .name = scratch ? scratch->mount_name() : "longship"};
  lay_over(layers, fittings.additions_to(layers.image), !image.is_host());
  if (scratch) scratch->settle(layers.root);
  fittings.mount_in(layers.root, layers.proc);
  replace_root(layers.root);
  if (power == Power::root) step_down();
  hide_from_the_box();
  go_to(spec.working_directory, caller.working_directory);
  if (spec.fake_root) pretend_to_be_root();
  return image.way();
}

Way enter_together(const Spec& spec) {
  check_name(spec.join);
  const Caller caller = find_caller();
  Meeting meeting(spec.join);
  if (meeting.is_open()) {
    const Way way = join(meeting);
    go_to(spec.working_directory, caller.working_directory);
    return way;
  }
  Doorkeeper keeper(meeting);
  const Way way = enter_steps(spec);
  keeper.open(way);
  return way;
}

}  // namespace

Way enter(const Spec& spec) {
  return within("cannot enter the box",
                [&] { return spec.join.empty() ? enter_steps(spec) : enter_together(spec); });
}

}  // namespace longship::box
