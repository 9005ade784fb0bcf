// SPDX-License-Identifier: Apache-2.0
#include "keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "limits.h"

namespace longship::launch::detail {
namespace {

class Keeper {
 public:
  Keeper(int socket, const std::vector<RankStart>& starts) : socket_(socket), starts_(starts) {}
  void enter(const box::Spec* box);
  void start(const std::vector<RankPipes>& pipes, const std::string& directory);
  void watch();
  void tell(const KeeperWord& word) const { ::send(socket_, &word, sizeof word, MSG_NOSIGNAL); }

 private:
  [[noreturn]] void become_rank(std::size_t rank, const RankPipes& pipes, const std::string& directory);
  bool obey();  // false: the launcher is gone
  void reap();
  void signal_rank(std::size_t rank, int number) const {
    if (pids_[rank] > 0) ::kill(-pids_[rank], number);
  }

  int socket_;
  const std::vector<RankStart>& starts_;
  std::vector<pid_t> pids_;  // 0: ended
  std::size_t running_ = 0;
  Fd children_;
};

// While it mounts, the keeper cannot listen: until it can, the kernel kills it with the launcher.
void Keeper::enter(const box::Spec* box) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (box != nullptr) {
    box::enter(*box);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a change of credentials would have taken it back
  }
}

void Keeper::start(const std::vector<RankPipes>& pipes, const std::string& directory) {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  children_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  for (std::size_t rank = 0; rank < starts_.size(); ++rank) {
    const pid_t pid = ::fork();
    if (pid < 0) throw cannot_fork(errno, rank, starts_.size());
    if (pid == 0) become_rank(rank, pipes[rank], directory);
    ::setpgid(pid, pid);  // here too: whoever comes first, so that a signal never misses
    pids_.push_back(pid);
    ++running_;
  }
  // Only the ranks may hold these: a pipe has to end with its rank.
  for (const auto& [out, err] : pipes) {
    ::close(out);
    ::close(err);
  }
  tell({KeeperWord::started});
  ::prctl(PR_SET_PDEATHSIG, 0);  // from here on the closed socket tells, and there is time to kill in order
}

void Keeper::become_rank(std::size_t rank, const RankPipes& pipes, const std::string& directory) {
  const auto& start = starts_[rank];
  const pid_t keeper = ::getppid();
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != keeper) ::_exit(127);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(null, 0);
  ::dup2(pipes.out, 1);
  ::dup2(pipes.err, 2);
  if (start.keep_open >= 0) ::fcntl(start.keep_open, F_SETFD, 0);
  bind_to(start.cores);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  try {
    if (!directory.empty() && ::chdir(directory.c_str()) != 0)
      throw Error::from_errno(errno, "cannot start in {}", directory);
    box::execute(start.command, start.environment);
  } catch (const std::exception& error) {
    const auto text = std::string("longship: error: ") + error.what() + "\n";
    (void)!::write(2, text.data(), text.size());
  }
  ::_exit(127);
}

bool Keeper::obey() {
  for (;;) {
    LauncherWord word{};
    const auto got = ::recv(socket_, &word, sizeof word, MSG_DONTWAIT);
    if (got == sizeof word)
      signal_rank(static_cast<std::size_t>(word.rank), word.signal);
    else
      return got < 0 && (errno == EAGAIN || errno == EINTR);
  }
}

void Keeper::reap() {
  signalfd_siginfo ignored{};
  while (::read(children_.get(), &ignored, sizeof ignored) > 0) {
  }
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    const auto found = std::find(pids_.begin(), pids_.end(), pid);
    if (found == pids_.end()) continue;  // an orphan, or the box's own
    *found = 0;
    --running_;
    KeeperWord word{KeeperWord::ended, static_cast<int>(found - pids_.begin())};
    if (WIFSIGNALED(status))
      word.signal = WTERMSIG(status);
    else
      word.code = WEXITSTATUS(status);
    tell(word);
  }
}

void Keeper::watch() {
  while (running_ > 0) {
    pollfd polled[2] = {{socket_, POLLIN, 0}, {children_.get(), POLLIN, 0}};
    ::poll(polled, 2, -1);
    if (polled[0].revents != 0 && !obey()) break;
    if (polled[1].revents != 0) reap();
  }
  for (std::size_t rank = 0; rank < pids_.size(); ++rank) signal_rank(rank, SIGKILL);
  sweep();
  tell({KeeperWord::gone});
}

KeeperWord failure_word(const Error& error) {
  KeeperWord word{KeeperWord::failed};
  word.code = static_cast<int>(error.failure());
  std::strncpy(word.text, error.what(), sizeof word.text - 1);
  return word;
}

}  // namespace

void keep(int socket, const std::vector<RankStart>& starts, const std::vector<RankPipes>& pipes,
          const box::Spec* box, const std::string& directory) {
  ::setpgid(0, 0);  // Ctrl-C at the terminal is the launcher's business
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  Keeper keeper(socket, starts);
  try {
    keeper.enter(box);
    keeper.start(pipes, directory);
    keeper.watch();
  } catch (const Error& error) {
    sweep();
    keeper.tell(failure_word(error));
  } catch (const std::exception& error) {
    sweep();
    keeper.tell(failure_word(Error::of(error)));
  }
  ::_exit(0);
}

}  // namespace longship::launch::detail
