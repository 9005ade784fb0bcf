// SPDX-License-Identifier: Apache-2.0
#include "signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

namespace longship::launch {

Interrupted::Interrupted(int signal)
    : Error("{}", signal == SIGINT   ? "interrupted"
                  : signal == SIGHUP ? "the terminal went away"
                                     : "told to stop"),
      signal_(signal) {}

Interruptions::Interruptions() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&set, number);
  fd_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_) throw Error::from_errno(errno, "cannot watch for signals");
  ::sigprocmask(SIG_BLOCK, &set, &before_);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &pipe_before_);
}

Interruptions::~Interruptions() {
  ::sigaction(SIGPIPE, &pipe_before_, nullptr);
  while (take()) {  // the work was stopped because of it; it must not strike now
  }
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<int> Interruptions::take() {
  signalfd_siginfo information{};
  if (::read(fd_.get(), &information, sizeof information) != sizeof information) return {};
  return static_cast<int>(information.ssi_signo);
}

void Interruptions::check() {
  if (const auto number = take()) throw Interrupted(*number);
}

}  // namespace longship::launch
