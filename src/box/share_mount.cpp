// SPDX-License-Identifier: Apache-2.0
// The half of shared_image.h that starts a keeper.
#include <chrono>
#include <cstdlib>
#include <utility>

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
void start_or_find(int image, const Keep& keep, Asked& asked) {
  const auto name = meeting_name(asked.identity);
  const auto wait = linger();
  Meeting meeting(name);
  if (meeting.is_open()) {
    asked.connection = meeting.take_connection();  // no need to stand in line for the answer
    return;
  }
  start_keeper([&] { keep(meeting, image, asked.identity, wait); });
  meeting.was_handed_over();
  asked.is_new = true;
  asked.connection = connect_to_keeper(name);
}

}  // namespace

Asked ask_new_keeper(int image, std::string name, Ways ways, const Keep& keep) {
  Asked asked;
  asked.image = std::move(name);
  try {
    asked.identity = identity_of(image, ways);
    start_or_find(image, keep, asked);
  } catch (const Error& error) {
    if (error.failure() == Failure::usage) throw;
    asked.obstacle = error.what();
  }
  return asked;
}

SharedMount share_mount(int image, const std::string& name, Ways ways, const Keep& keep) {
  SharedMount shared;
  for (int i = 0; i < tries; ++i) {
    shared = answer_to(ask_new_keeper(image, name, ways, keep));
    if (shared.mount || !shared.obstacle.empty()) return shared;
  }
  shared.obstacle = "the process that should keep the mount was killed";
  return shared;
}

}  // namespace longship::box
