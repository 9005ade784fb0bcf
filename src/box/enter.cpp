// SPDX-License-Identifier: Apache-2.0
// What comes before the way into a box: who calls, which image, how it can be mounted, and whether there is a
// box to join. enter_image.cpp has the way itself.
#include <sys/vfs.h>

#include <cerrno>
#include <optional>

#include "base/error.h"
#include "box.h"
#include "doorkeeper.h"
#include "enter_image.h"
#include "fake_root.h"
#include "identity.h"
#include "image_root.h"
#include "join.h"
#include "layers.h"
#include "scratch.h"

namespace longship::box {
namespace {

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

Way enter_alone(const Spec& spec, const Caller& caller) {
  check(spec);
  ImageRoot image = choose_root(spec);
  std::optional<Scratch> scratch;
  if (spec.writable == Writable::temporary && !spec.upper.empty()) scratch.emplace(spec.upper);
  const Way way = enter_image(spec, caller, image, scratch ? &*scratch : nullptr);
  if (spec.fake_root) pretend_to_be_root();
  return way;
}

Way enter_together(const Spec& spec, const Caller& caller) {
  check_name(spec.join);
  Meeting meeting(spec.join);
  if (meeting.is_open()) {
    const Way way = join(meeting);
    go_to(spec.working_directory, caller.working_directory);
    return way;
  }
  Doorkeeper keeper(meeting);
  const Way way = enter_alone(spec, caller);
  keeper.open(way);
  return way;
}

}  // namespace

Way enter(const Spec& spec) {
  return within("cannot enter the box", [&] {
    const Caller caller = find_caller();
    return spec.join.empty() ? enter_alone(spec, caller) : enter_together(spec, caller);
  });
}

}  // namespace longship::box
