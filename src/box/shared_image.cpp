// SPDX-License-Identifier: Apache-2.0
#include "shared_image.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cstdlib>
#include <cstring>
#include <span>

#include "base/error.h"
#include "base/say.h"
#include "hand_over.h"

namespace longship::box {

bool sharing_is_refused() {
  const char* word = std::getenv("LONGSHIP_SHARE");
  return word != nullptr && std::strcmp(word, "no") == 0;
}

Asked ask_for_mount(int image, std::string name, Ways ways) {
  Asked asked;
  asked.image = std::move(name);
  if ((!ways.kernel && !ways.fuse) || sharing_is_refused()) return asked;
  asked.identity = identity_of(image, ways);
  try {
    asked.connection = connect_to_keeper(meeting_name(asked.identity));
  } catch (const Error& error) {
    asked.obstacle = error.what();
  }
  return asked;
}

SharedMount answer_to(const Asked& asked) {
  SharedMount shared;
  shared.obstacle = asked.obstacle;
  shared.is_new = asked.is_new;
  if (asked.connection) static_cast<void>(take_mount(asked.connection.get(), asked.identity, shared));
  return shared;
}

void leave_namespace_to_keeper(int connection) {
  const Fd space(::open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
  const int descriptor = space.get();
  const std::byte nothing{};
  if (space) hand_over(connection, {&nothing, 1}, {&descriptor, 1});
}

void tell_of(const SharedMount& shared, const std::string& image) {
  explain("{}: {}, one mount for all boxes on this machine, {} process {}", image, name_of(shared.way),
          shared.is_new ? "now kept by" : "kept by", shared.keeper);
}

bool take_mount(int connection, const Identity& wanted, SharedMount& shared) {
  constexpr timeval patience = {.tv_sec = 5, .tv_usec = 0};
  ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  Answer answer;
  auto received = receive(connection, std::as_writable_bytes(std::span(&answer, 1)));
  if (received.timed_out) {
    shared.obstacle = "the process that keeps the mount does not answer";
    return true;
  }
  if (!received.complete) return false;
  if (answer.identity != wanted)
    shared.obstacle = "another image has the same short name";
  else if (received.descriptors.size() != 1)
    shared.obstacle = std::string(answer.problem, ::strnlen(answer.problem, sizeof answer.problem));
  else
    shared.mount = std::move(received.descriptors[0]);
  shared.way = answer.way;
  shared.keeper = answer.keeper;
  return true;
}

}  // namespace longship::box
