// SPDX-License-Identifier: Apache-2.0
#include "fuse_device.h"

#include <unistd.h>

#include <cerrno>

#include "base/error.h"

namespace longship::box {

std::string why_no_fuse() {
  if (::access(fuse_device, R_OK | W_OK) == 0) return {};
  return Error::from_errno(errno, "{} cannot be opened", fuse_device).what();
}

}  // namespace longship::box
