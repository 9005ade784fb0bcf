// SPDX-License-Identifier: Apache-2.0
#include "doorkeeper.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>

#include "base/error.h"
#include "hand_over.h"
#include "join.h"
#include "keeper.h"

namespace longship::box {
namespace {

Fd open_in_box(const char* path, int flags) {
  return Fd(::open(path, flags | O_CLOEXEC));
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
