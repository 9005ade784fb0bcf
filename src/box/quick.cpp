// SPDX-License-Identifier: Apache-2.0
#include "quick.h"

#include "base/error.h"
#include "enter_image.h"
#include "identity.h"
#include "image_root.h"
#include "join.h"
#include "meeting.h"

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

std::optional<Way> enter_if_ready(const Spec& spec) {
  auto image = ready_root(spec, open_root(spec.root));
  if (!image) return {};
  return enter_image(spec, find_caller(), *image, nullptr);
}

}  // namespace

std::optional<Way> enter_quickly(const Spec& spec) {
  if (spec.fake_root || !spec.upper.empty()) return {};
  return within("cannot enter the box",
                [&] { return spec.join.empty() ? enter_if_ready(spec) : join_if_open(spec); });
}

}  // namespace longship::box
