// SPDX-License-Identifier: Apache-2.0
#include "fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "error.h"

namespace longship {

void Fd::reset(int number) {
  if (number_ >= 0) ::close(number_);
  number_ = number;
}

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Error::from_errno(errno, "cannot make a pipe");
  return {Fd(ends[0]), Fd(ends[1])};
}

}  // namespace longship
