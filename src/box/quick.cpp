// SPDX-License-Identifier: Apache-2.0
#include "quick.h"

#include "base/error.h"
#include "enter_image.h"
#include "identity.h"
#include "image_root.h"
#include "join.h"
#include "keeper_program.h"
#include "meeting.h"
#include "shared_image.h"

namespace longship::box {
namespace {

// With the Meeting's lock, as in enter(): the keeper may be about to leave, and the next rank would find
// none.
std::optional<Way> join_if_open(const Spec& spec) {
  check_name(spec.join);
  const Caller caller = find_caller();
  Meeting meeting(spec.join);
  if (!meeting.is_open()) return {};
  const Way way = join(meeting);
  go_to(spec.working_directory, caller.working_directory);
  return way;
}

// The mount that a new keeper will give, if it can.
std::optional<ImageRoot> new_shared_root(const Spec& spec, const GivenRoot& given,
                                         const std::string& keeper) {
  const Ways ways = ways_to_share(spec);
  if ((!ways.kernel && !ways.fuse) || sharing_is_refused()) return {};
  Asked asked = ask_new_keeper(given.squashfs.get(), spec.root, ways, keep_by_program(keeper, spec.command));
  if (!asked.connection) return {};
  return ImageRoot(std::move(asked));
}

std::optional<Way> enter_alone(const Spec& spec, const std::string& keeper) {
  const GivenRoot given = open_root(spec.root);
  auto image = ready_root(spec, given);
  if (!image) image = new_shared_root(spec, given, keeper);
  if (!image) return {};
  try {
    return enter_image(spec, find_caller(), *image, nullptr);
  } catch (const ImageRoot::NotGiven&) {
    return {};  // the keeper has no mount, is about to leave, or hangs; to be in new namespaces already
                // hinders nobody
  }
}

}  // namespace

std::optional<Way> enter_quickly(const Spec& spec, const std::string& keeper) {
  if (spec.fake_root || !spec.upper.empty()) return {};
  return within("cannot enter the box",
                [&] { return spec.join.empty() ? enter_alone(spec, keeper) : join_if_open(spec); });
}

}  // namespace longship::box
