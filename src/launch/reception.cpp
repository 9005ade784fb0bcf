// SPDX-License-Identifier: Apache-2.0
#include "reception.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "plan.h"

namespace longship::launch {
namespace {

struct Address {
  sockaddr_un value{};
  socklen_t size = 0;

  explicit Address(const std::string& name) {
    value.sun_family = AF_UNIX;
    if (name.empty() || name.size() >= sizeof value.sun_path)
      throw Error("\"{}\" is no launcher's name", printable(name));
    std::memcpy(value.sun_path + 1, name.data(), name.size());  // after a zero: no file's name
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&value); }
};

bool is_our_own(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

}  // namespace

Reception::Reception()
    : name("longship-" + make_secret().substr(0, 32)),
      socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const Address at(name);
  if (!socket || ::bind(socket.get(), at.get(), at.size) != 0 || ::listen(socket.get(), SOMAXCONN) != 0)
    throw Error::from_errno(errno, "cannot make a socket for the helpers");
}

Fd admit_helper(int reception) {
  Fd connection(::accept4(reception, nullptr, nullptr, SOCK_CLOEXEC));
  if (connection && !is_our_own(connection.get())) connection.reset();
  return connection;
}

Fd reach_launcher(const std::string& name) {
  const Address at(name);
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), at.get(), at.size) != 0)
    throw Error::from_errno(errno, "cannot reach the launcher, {}", name);
  if (!is_our_own(socket.get())) throw Error("{} is not the launcher: it belongs to somebody else", name);
  return socket;
}

}  // namespace longship::launch
