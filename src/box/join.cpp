// SPDX-License-Identifier: Apache-2.0
#include "join.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "base/error.h"
#include "base/text.h"
#include "hand_over.h"
#include "namespaces.h"

namespace longship::box {

Gifts receive_gifts(int socket, Way& way) {
  auto received = receive(socket, std::as_writable_bytes(std::span(&way, 1)));
  if (!received.complete || received.descriptors.size() != 3)
    throw Error("the keeper of the box is gone: start again");
  auto& given = received.descriptors;
  return {std::move(given[0]), std::move(given[1]), std::move(given[2])};
}

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

}  // namespace longship::box
