// SPDX-License-Identifier: Apache-2.0
// The way into a box, step by step:
//   namespaces       from here on nothing that is mounted concerns the host
//   workshop         an empty tmpfs becomes the root, the host hangs below it at /host: whatever is built in
//                    the workshop cannot hide a directory of the host that is still needed
//   layers           the image with the mount points it lacks, at /root
//   fittings         the host's directories, bound there
//   exchange         /root becomes the root, workshop and host are gone
#include "enter_image.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "fittings.h"
#include "layers.h"
#include "mounts.h"
#include "namespaces.h"

namespace longship::box {
namespace {

constexpr const char* workshop_at = "/tmp";  // any directory that every host has

void open_workshop() {
  mount_tmpfs(workshop_at, "mode=0755");
  for (const char* directory : {"/host", "/image", "/layers", "/root"})
    if (::mkdir((std::string(workshop_at) + directory).c_str(), 0755) != 0)
      throw Error::from_errno(errno, "cannot make a directory in the workshop");
  exchange_root(workshop_at, "host");
}

}  // namespace

Way enter_image(const Spec& spec, const Caller& caller, ImageRoot& image, Scratch* scratch) {
  const Power power = enter_mount_namespace(spec.fake_root);
  Fittings fittings(spec, caller);
  image.open_inside();  // a keeper may still be about to wake up: whatever needs no image comes before
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
  return image.way();
}

void go_to(const std::string& wanted, const std::string& callers) {
  if (!wanted.empty()) {
    if (::chdir(wanted.c_str()) != 0)
      throw Error::from_errno(errno, "cannot start in {}, the working directory", wanted);
  } else if (callers.empty() || ::chdir(callers.c_str()) != 0) {
    if (::chdir("/") != 0) throw Error::from_errno(errno, "cannot start in /");
  }
}

}  // namespace longship::box
