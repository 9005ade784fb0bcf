// SPDX-License-Identifier: Apache-2.0
#include "shared_image.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "hand_over.h"
#include "image_keeper.h"
#include "keeper.h"
#include "meeting.h"
#include "small_file.h"
#include "squashfs.h"

namespace longship::box {
namespace {

constexpr int tries = 3;  // each time a keeper may give up just when it is asked

std::uint64_t mix(std::uint64_t hash, std::string_view bytes) {
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;  // FNV-1a
  return hash;
}
constexpr std::uint64_t mix_begin = 0xcbf29ce484222325;

// For root others of its boxes may have other ids, which its user namespace has to know; anybody else is
// alone in its boxes.
std::uint64_t power_over_others() {
  struct stat about {};
  return ::geteuid() == 0 && ::stat("/proc/self/ns/user", &about) == 0 ? about.st_ino : 0;
}

Identity identity_of(int image, bool kernel, bool fuse) {
  struct stat about {};
  if (::fstat(image, &about) != 0) throw Error::from_errno(errno, "cannot look at the image");
  const auto moment = [](const timespec& at) {
    return static_cast<std::uint64_t>(at.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(at.tv_nsec);
  };
  return {.device = about.st_dev,
          .file = about.st_ino,
          .size = static_cast<std::uint64_t>(about.st_size),
          .modified = moment(about.st_mtim),
          .changed = moment(about.st_ctim),
          .group = ::getegid(),
          .ways = (kernel ? 1U : 0U) + (fuse ? 2U : 0U),
          .fate = detail::fate_of(read_small_file("/proc/self/cgroup").value_or("")),
          .users = power_over_others()};
}

// A dot: no name that a user gives to a box (join.h) begins so.
std::string name_of(const Identity& identity) {
  const std::string_view bytes(reinterpret_cast<const char*>(&identity), sizeof identity);
  return fmt::format(".image-{:016x}", mix(mix_begin, bytes));
}

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

// False: the keeper hung up.
bool take(int connection, const Identity& wanted, SharedMount& shared) {
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

// Through the lock, so that of many that come at once one starts a keeper, and is its first guest.
bool start_or_take(int image, const Identity& identity, SharedMount& shared) {
  const auto wait = linger();
  Meeting meeting(name_of(identity));
  if (meeting.is_open()) {
    meeting.unlock();  // no need to stand in line for the answer
    return take(meeting.connection(), identity, shared);
  }
  start_keeper([&] { keep_image(meeting, image, identity, wait); });
  meeting.was_handed_over();
  shared.is_new = true;
  const Fd connection = connect_to_keeper(name_of(identity));
  return connection && take(connection.get(), identity, shared);
}

}  // namespace

std::uint64_t detail::fate_of(std::string_view groups) {
  std::uint64_t hash = mix_begin;
  for (auto line : split(groups, '\n')) {
    if (const auto task = line.rfind("/task_"); task != std::string_view::npos) line = line.substr(0, task);
    hash = mix(hash, line);
  }
  return hash;
}

SharedMount share_mount(int image, const std::string& name, bool kernel, bool fuse) {
  SharedMount shared;
  if (const char* word = std::getenv("LONGSHIP_SHARE"); word != nullptr && std::strcmp(word, "no") == 0) {
    shared.obstacle = "LONGSHIP_SHARE says no";
    return shared;
  }
  const Identity identity = identity_of(image, kernel, fuse);
  try {
    if (const Fd connection = connect_to_keeper(name_of(identity));
        connection && take(connection.get(), identity, shared))
      return shared;
    { const SquashFs readable(image, name); }  // here, where an error still reaches someone
    for (int i = 0; i < tries; ++i)
      if (start_or_take(image, identity, shared)) return shared;
    shared.obstacle = "the process that should keep the mount was killed";
  } catch (const Error& error) {
    if (error.failure() == Failure::usage) throw;
    shared.obstacle = error.what();
  }
  return shared;
}

}  // namespace longship::box
