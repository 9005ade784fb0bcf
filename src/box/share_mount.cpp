// SPDX-License-Identifier: Apache-2.0
// The half of shared_image.h that starts a keeper.
#include <chrono>
#include <cstdlib>

#include "base/error.h"
#include "keeper.h"
#include "shared_image.h"

namespace longship::box {
namespace {

constexpr int tries = 3;  // each time a keeper may give up just when it is asked

// LONGSHIP_LINGER: seconds that a mount waits for the next box.
std::chrono::milliseconds linger() {
  const char* word = std::getenv("LONGSHIP_LINGER");
  if (word == nullptr || *word == '\0') return std::chrono::seconds(5);
  char* end = nullptr;
  const double seconds = std::strtod(word, &end);
  if (*end != '\0' || !(seconds >= 0 && seconds <= 86400))
    throw Error(Failure::usage, "LONGSHIP_LINGER is \"{}\": it is a number of seconds, at most 86400", word);
  return std::chrono::milliseconds(static_cast<long>(seconds * 1000));
}

// Through the lock, so that of many that come at once one starts a keeper, and is its first guest.
bool start_or_take(int image, const Identity& identity, const Keep& keep, SharedMount& shared) {
  const auto wait = linger();
  Meeting meeting(meeting_name(identity));
  if (meeting.is_open()) {
    meeting.unlock();  // no need to stand in line for the answer
    return take_mount(meeting.connection(), identity, shared);
  }
  start_keeper([&] { keep(meeting, image, identity, wait); });
  meeting.was_handed_over();
  shared.is_new = true;
  const Fd connection = connect_to_keeper(meeting_name(identity));
  return connection && take_mount(connection.get(), identity, shared);
}

}  // namespace

SharedMount share_mount(int image, Ways ways, const Keep& keep) {
  SharedMount shared;
  try {
    const Identity identity = identity_of(image, ways);
    for (int i = 0; i < tries; ++i)
      if (start_or_take(image, identity, keep, shared)) return shared;
    shared.obstacle = "the process that should keep the mount was killed";
  } catch (const Error& error) {
    if (error.failure() == Failure::usage) throw;
    shared.obstacle = error.what();
  }
  return shared;
}

}  // namespace longship::box
