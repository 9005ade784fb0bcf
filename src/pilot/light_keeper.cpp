// SPDX-License-Identifier: Apache-2.0
#include "light_keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "launch/ranks.h"

extern char** environ;

namespace longship::pilot::detail {
namespace {

constexpr std::chrono::seconds grace{5};

struct Received {
  std::string bytes;
  Fd out, err;
  bool closed = false;
};

Received receive(int socket) {
  Received received;
  received.bytes.resize(largest_packet);
  iovec part{received.bytes.data(), received.bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  const auto got = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  received.closed = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
  received.bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  const cmsghdr* rights = CMSG_FIRSTHDR(&header);
  if (got > 0 && rights != nullptr && rights->cmsg_len == CMSG_LEN(2 * sizeof(int))) {
    int fds[2];
    std::memcpy(fds, CMSG_DATA(rights), sizeof fds);
    received.out.reset(fds[0]);
    received.err.reset(fds[1]);
  }
  return received;
}

// The words of a packet in place, as exec wants them.
struct Unpacked {
  char* directory;
  char* program;
  std::vector<char*> arguments, variables;
};

Unpacked unpack(std::string& bytes) {
  std::vector<char*> words;
  for (std::size_t at = 1; at < bytes.size(); at += std::strlen(bytes.data() + at) + 1)
    words.push_back(bytes.data() + at);
  Unpacked task{words[0], words[1], {}, {}};
  const auto first_variable = 3 + static_cast<std::ptrdiff_t>(std::strtoul(words[2], nullptr, 10));
  task.arguments.assign(words.begin() + 3, words.begin() + first_variable);
  task.arguments.push_back(nullptr);
  task.variables.assign(words.begin() + first_variable, words.end());
  for (char** at = environ; *at != nullptr; ++at) {
    const auto name = static_cast<std::size_t>(::strchrnul(*at, '=') - *at) + 1;
    bool replaced = false;
    for (std::size_t i = 0; i < words.size() - static_cast<std::size_t>(first_variable); ++i)
      replaced = replaced || std::strncmp(task.variables[i], *at, name) == 0;
    if (!replaced) task.variables.push_back(*at);
  }
  task.variables.push_back(nullptr);
  return task;
}

// In the memory of the keeper, which waits: only system calls, and nothing is changed but what is the child's
// own.
[[noreturn]] void become(const Unpacked& task, int out, int err, int null, pid_t keeper) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != keeper) ::_exit(127);
  ::dup2(null, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  if (::chdir(task.directory) == 0) ::execve(task.program, task.arguments.data(), task.variables.data());
  const char* reason = ::strerrordesc_np(errno);
  const iovec parts[] = {{const_cast<char*>("longship: error: cannot run "), 28},
                         {task.arguments[0], std::strlen(task.arguments[0])},
                         {const_cast<char*>(": "), 2},
                         {const_cast<char*>(reason), std::strlen(reason)},
                         {const_cast<char*>("\n"), 1}};
  (void)!::writev(2, parts, 5);
  ::_exit(127);
}

[[gnu::noinline]] pid_t start(const Unpacked& task, int out, int err, int null) {
  const pid_t keeper = ::getpid();
  const pid_t child = ::vfork();  // fork would copy the page tables of a large program for a small task
  if (child == 0) become(task, out, err, null, keeper);
  return child;
}

class Keeper {
 public:
  explicit Keeper(int socket) : socket_(socket), null_(::open("/dev/null", O_RDONLY | O_CLOEXEC)) {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    children_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  void watch() {
    for (;;) {
      pollfd polled[2] = {{socket_, POLLIN, 0}, {children_.get(), POLLIN, 0}};
      ::poll(polled, 2, patience());
      if (polled[1].revents != 0) reap();
      if (polled[0].revents != 0 && !obey()) break;
      if (kill_at_ && std::chrono::steady_clock::now() >= *kill_at_) signal(SIGKILL);
    }
    signal(SIGKILL);
    launch::sweep();
  }

 private:
  [[nodiscard]] int patience() const {
    if (!kill_at_ || task_ <= 0) return -1;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(*kill_at_ - std::chrono::steady_clock::now());
    return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
  }
  void signal(int number) const {
    if (task_ > 0) ::kill(-task_, number);
  }
  bool obey() {
    auto received = receive(socket_);
    if (received.closed) return false;
    if (received.bytes.empty()) return true;
    if (received.bytes[0] == stop_word) {
      signal(SIGTERM);
      kill_at_ = std::chrono::steady_clock::now() + grace;
      return true;
    }
    task_ = start(unpack(received.bytes), received.out.get(), received.err.get(), null_.get());
    kill_at_.reset();
    if (task_ < 0) tell({127, 0});
    return true;
  }
  void reap() {
    signalfd_siginfo ignored{};
    (void)!::read(children_.get(), &ignored, sizeof ignored);
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (pid != task_) continue;  // an orphan of the task
      signal(SIGKILL);             // what is left of its group
      task_ = -1;
      if (::waitpid(-1, nullptr, WNOHANG) >= 0) launch::sweep();
      tell(WIFSIGNALED(status) ? LightEnding{0, WTERMSIG(status)} : LightEnding{WEXITSTATUS(status), 0});
    }
  }
  void tell(const LightEnding& ending) const { ::send(socket_, &ending, sizeof ending, MSG_NOSIGNAL); }

  int socket_;
  Fd null_, children_;
  pid_t task_ = -1;
  std::optional<Instant> kill_at_;
};

}  // namespace

std::string pack(const LightTask& task) {
  std::string bytes = "r";
  const auto add = [&](std::string_view word) { bytes.append(word).append(1, '\0'); };
  add(task.directory);
  add(task.program);
  add(std::to_string(task.arguments.size()));
  for (const auto& argument : task.arguments) add(argument);
  for (const auto& variable : task.variables) add(variable);
  return bytes;
}

void keep_light(int socket) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "longship-keeper");
  ::setpgid(0, 0);
  Keeper(socket).watch();
  ::_exit(0);
}

}  // namespace longship::pilot::detail
