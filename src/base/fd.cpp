// SPDX-License-Identifier: Apache-2.0
#include "fd.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "error.h"

namespace longship {
namespace {

void close_between(unsigned from, unsigned end) {
  if (from >= end) return;
  if (::syscall(SYS_close_range, from, end - 1, 0) == 0) return;
  const auto limit = static_cast<unsigned>(::sysconf(_SC_OPEN_MAX));  // before Linux 5.9
  for (unsigned fd = from; fd < end && fd < limit; ++fd) ::close(static_cast<int>(fd));
}

}  // namespace

void Fd::reset(int number) {
  if (number_ >= 0) ::close(number_);
  number_ = number;
}

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Error::from_errno(errno, "cannot make a pipe");
  return {Fd(ends[0]), Fd(ends[1])};
}

void keep_only(std::initializer_list<int> kept) {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int standard = 0; standard <= 2; ++standard) ::dup2(null, standard);
  std::vector<int> sorted(kept);
  std::sort(sorted.begin(), sorted.end());
  unsigned from = 3;
  for (const int fd : sorted) {
    close_between(from, static_cast<unsigned>(fd));
    from = static_cast<unsigned>(fd) + 1;
  }
  close_between(from, ~0U);
}

}  // namespace longship
