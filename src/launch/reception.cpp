// SPDX-License-Identifier: Apache-2.0
#include "reception.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace longship::launch {

Reception::Reception() : socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  const auto name = path().string();
  if (name.size() >= sizeof at.sun_path)
    throw Error("the temporary directory {} has too long a name for a socket: set TMPDIR", name);
  std::memcpy(at.sun_path, name.c_str(), name.size());
  if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0)
    throw Error::from_errno(errno, "cannot make a socket at {}", name);
}

}  // namespace longship::launch
