// SPDX-License-Identifier: Apache-2.0
#include "join.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/error.h"
#include "base/text.h"
#include "hand_over.h"
#include "keeper.h"
#include "namespaces.h"

namespace longship::box {
namespace {

// What a member is given: the namespaces, the root within them, and how the image is mounted.
struct Gifts {
  Fd user, mounts, root;
};

Fd open_in_box(const char* path, int flags) {
  return Fd(::open(path, flags | O_CLOEXEC));
}

Gifts receive_gifts(int socket, Way& way) {
  auto received = receive(socket, std::as_writable_bytes(std::span(&way, 1)));
  if (!received.complete || received.descriptors.size() != 3)
    throw Error("the keeper of the box is gone: start again");
  auto& given = received.descriptors;
  return {std::move(given[0]), std::move(given[1]), std::move(given[2])};
}

void keep(Meeting& meeting, int inside, pid_t first) {
  const auto [above, directory, listening] = meeting.descriptors();
  keep_only({above, directory, listening, inside});
  Way way = Way::directory;
  const Gifts gifts = receive_gifts(inside, way);
  ::close(inside);
  const std::array given = {gifts.user.get(), gifts.mounts.get(), gifts.root.get()};
  const auto give = [&](int peer) { hand_over(peer, std::as_bytes(std::span(&way, 1)), given); };
  keep_open(meeting, {.give = give, .first = first});
}

}  // namespace

void check_name(const std::string& name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == '@';
  };
  if (name.empty() || name.size() > 80 || name[0] == '.' || !std::all_of(name.begin(), name.end(), allowed))
    throw Error(Failure::usage,
                "\"{}\" cannot be the name of a box to join: letters, digits, '.', '_', '-' and '@'",
                printable(name));
}

Way join(Meeting& meeting) {
  Way way = Way::directory;
  const auto [user, mounts, root] = receive_gifts(meeting.connection(), way);
  hide_from_the_box();
  // Root made the mounts before it stepped down into the user namespace, anybody else after.
  const bool mounted = ::geteuid() == 0 && ::setns(mounts.get(), CLONE_NEWNS) == 0;
  const bool mapped = ::setns(user.get(), CLONE_NEWUSER) == 0;
  if (!mapped && !mounted) throw Error::from_errno(errno, "this machine does not let a process join a box");
  if (!mounted && ::setns(mounts.get(), CLONE_NEWNS) != 0)
    throw Error::from_errno(errno, "cannot join the mounts of the box");
  if (::fchdir(root.get()) != 0 || ::chroot(".") != 0)
    throw Error::from_errno(errno, "cannot find the root of the box");
  meeting.unlock();
  return way;
}

Doorkeeper::Doorkeeper(Meeting& meeting) : meeting_(meeting) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error::from_errno(errno, "cannot make a socket pair for the keeper of the box");
  socket_.reset(ends[0]);
  const Fd theirs(ends[1]);
  start_keeper([&, first = ::getpid()] { keep(meeting, theirs.get(), first); });
}

void Doorkeeper::open(Way way) {
  const Gifts gifts = {open_in_box("/proc/self/ns/user", O_RDONLY),
                       open_in_box("/proc/self/ns/mnt", O_RDONLY), open_in_box("/", O_PATH | O_DIRECTORY)};
  const std::array given = {gifts.user.get(), gifts.mounts.get(), gifts.root.get()};
  if (!hand_over(socket_.get(), std::as_bytes(std::span(&way, 1)), given))
    throw Error::from_errno(errno, "the keeper of the box is gone");
  socket_.reset();
  meeting_.was_handed_over();
}

}  // namespace longship::box
