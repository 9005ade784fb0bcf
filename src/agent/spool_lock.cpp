// SPDX-License-Identifier: Apache-2.0
#include "spool_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace longship::agent {

Fd lock_spool(const std::filesystem::path& lock) {
  Fd fd = open_file(lock, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) throw Error::from_errno(errno, "cannot lock {}", lock.native());
    const std::string holder(printable(trim(read_file(lock, 1000))));
    throw Error("another agent has the spool {}: {}; there is one per spool", lock.parent_path().native(),
                holder.empty() ? "it does not say which" : holder);
  }
  char host[256] = {};
  static_cast<void>(::gethostname(host, sizeof host - 1) == 0);
  if (::ftruncate(fd.get(), 0) != 0) throw Error::from_errno(errno, "cannot write {}", lock.native());
  write_all(fd.get(), fmt::format("process {} on {}\n", ::getpid(), host));
  return fd;
}

}  // namespace longship::agent
