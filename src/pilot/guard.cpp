// SPDX-License-Identifier: Apache-2.0
#include "guard.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/file.h"

namespace longship::pilot {
namespace {

[[noreturn]] void watch(Fd alive, const std::filesystem::path& directory) {
  ::setsid();  // out of reach of the terminal's Ctrl-C
  ::prctl(PR_SET_NAME, "longship-guard");
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::signal(number, SIG_IGN);
  keep_only({alive.get()});  // the caller's pipes and terminal must not stay open because of us
  char byte = 0;
  while (::read(alive.get(), &byte, 1) < 0 && errno == EINTR) {
  }
  // Ranks that are being killed may still write for a moment.
  for (int attempt = 0; attempt < 100 && !remove_tree(directory); ++attempt) ::usleep(100'000);
  ::rmdir(directory.parent_path().c_str());
  ::_exit(0);
}

}  // namespace

Guard::Guard(const std::filesystem::path& directory) {
  Pipe pipe = make_pipe();
  const pid_t child = ::fork();
  if (child < 0) throw Error::from_errno(errno, "cannot start the guard of {}", directory.string());
  if (child == 0) {
    const pid_t guard = ::fork();  // twice, so that nobody has to wait for it
    if (guard != 0) ::_exit(guard > 0 ? 0 : 1);
    pipe.write.reset();
    watch(std::move(pipe.read), directory);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) throw Error("cannot start the guard of {}", directory.string());
  alive_ = std::move(pipe.write);
}

}  // namespace longship::pilot
