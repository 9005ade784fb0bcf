// SPDX-License-Identifier: Apache-2.0
#include "lock_file.h"

#include <fcntl.h>

#include <cerrno>

#include "error.h"
#include "file.h"

namespace longship {

Fd wait_for_lock(const std::filesystem::path& path, int kind, mode_t mode) {
  Fd file = open_file(path, O_RDWR | O_CREAT, mode);
  while (::flock(file.get(), kind) != 0)
    if (errno != EINTR) throw Error::from_errno(errno, "cannot lock {}", path.string());
  return file;
}

}  // namespace longship
