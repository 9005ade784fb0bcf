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
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "box/own_program.h"
#include "launch/ranks.h"

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
  std::string program;  // a path
  std::vector<char*> arguments, by_shell, variables;
};

const char* value_in(const std::vector<char*>& variables, std::string_view name) {
  for (const char* variable : variables)
    if (std::string_view(variable).starts_with(name) && variable[name.size()] == '=')
      return variable + name.size() + 1;
  return "";
}

// As execvp: a program that may not be executed is passed over, but remembered.
std::string find_in_path(std::string_view name, std::string_view path) {
  std::string found(name);
  if (name.find('/') != name.npos) return found;
  for (const auto directory : split(path, ':')) {
    auto candidate = fmt::format("{}/{}", directory.empty() ? "." : directory, name);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    if (errno == EACCES) found = std::move(candidate);
  }
  return found;
}

Unpacked unpack(std::string& bytes, const std::vector<std::string>& environment) {
  std::vector<char*> words;
  for (std::size_t at = 1; at < bytes.size(); at += std::strlen(bytes.data() + at) + 1)
    words.push_back(bytes.data() + at);
  Unpacked task;
  const auto first_variable = 1 + static_cast<std::ptrdiff_t>(std::strtoul(words[0], nullptr, 10));
  task.arguments.assign(words.begin() + 1, words.begin() + first_variable);
  task.variables.assign(words.begin() + first_variable, words.end());
  const auto own = task.variables.size();
  for (const auto& variable : environment) {
    const auto name = variable.find('=') + 1;
    bool replaced = false;
    for (std::size_t i = 0; i < own; ++i)
      replaced = replaced || std::strncmp(task.variables[i], variable.c_str(), name) == 0;
    if (!replaced) task.variables.push_back(const_cast<char*>(variable.c_str()));
  }
  task.program = find_in_path(task.arguments[0], value_in(task.variables, "PATH"));
  task.by_shell = {const_cast<char*>("/bin/sh"), nullptr};  // the program: start()
  task.by_shell.insert(task.by_shell.end(), task.arguments.begin() + 1, task.arguments.end());
  for (auto* list : {&task.arguments, &task.by_shell, &task.variables}) list->push_back(nullptr);
  return task;
}

// In the memory of the keeper, which waits: only system calls, and nothing is changed but what is the child's
// own.
[[noreturn]] void become(const Unpacked& task, const char* directory, int out, int err, int null,
                         pid_t keeper) {
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
  if (::chdir(directory) == 0) {
    ::execve(task.program.c_str(), task.arguments.data(), task.variables.data());
    if (errno == ENOEXEC)  // a script without "#!" is the shell's
      ::execve("/bin/sh", task.by_shell.data(), task.variables.data());
  }
  const int code = errno == ENOENT ? 127 : 126;
  const char* reason = ::strerrordesc_np(errno);
  const iovec parts[] = {{const_cast<char*>("longship: error: cannot run "), 28},
                         {task.arguments[0], std::strlen(task.arguments[0])},
                         {const_cast<char*>(": "), 2},
                         {const_cast<char*>(reason), std::strlen(reason)},
                         {const_cast<char*>("\n"), 1}};
  (void)!::writev(2, parts, 5);
  ::_exit(code);
}

[[gnu::noinline]] pid_t start(Unpacked task, const char* directory, int out, int err, int null) {
  task.by_shell[1] = task.program.data();
  const pid_t keeper = ::getpid();
  const pid_t child = ::vfork();  // fork would copy the page tables of a large program for a small task
  if (child == 0) become(task, directory, out, err, null, keeper);
  return child;
}

class Keeper {
 public:
  Keeper(int socket, const LightPlace& place)
      : socket_(socket), place_(place), null_(::open("/dev/null", O_RDONLY | O_CLOEXEC)) {
    for (const auto& [name, value] : place.environment) environment_.push_back(name + "=" + value);
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    children_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  // Each task is told why it is not begun, if this fails. While it mounts, the keeper cannot listen: until it
  // can, the kernel kills it with the pilot.
  void enter_box() {
    if (!place_.box) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
      box::enter(*place_.box);
    } catch (const std::exception& error) {
      problem_ = Error::of(error).what();
    }
    ::prctl(PR_SET_PDEATHSIG, 0);
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
    kill_at_.reset();
    if (problem_.empty())
      begin(received);
    else
      refuse(problem_);
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
      tell(WIFSIGNALED(status) ? LightEnding{0, WTERMSIG(status), {}}
                               : LightEnding{WEXITSTATUS(status), 0, {}});
    }
  }
  void begin(Received& received) {
    auto task = unpack(received.bytes, environment_);
    if (place_.box && (box::leads_to_own_program(task.program) || box::leads_to_own_program("/bin/sh")))
      return refuse("its program leads to Longship's own through /proc, which is refused");
    task_ =
        start(std::move(task), place_.directory.c_str(), received.out.get(), received.err.get(), null_.get());
    if (task_ < 0) refuse(Error::from_errno(errno, "cannot start a process").what());
  }
  void refuse(std::string_view reason) const {
    LightEnding ending{126, 0, {}};
    reason.copy(ending.problem, sizeof ending.problem - 1);
    tell(ending);
  }
  void tell(const LightEnding& ending) const { ::send(socket_, &ending, sizeof ending, MSG_NOSIGNAL); }

  int socket_;
  const LightPlace& place_;
  std::vector<std::string> environment_;
  std::string problem_;  // why there is no box
  Fd null_, children_;
  pid_t task_ = -1;
  std::optional<Instant> kill_at_;
};

}  // namespace

std::string pack(const LightTask& task) {
  std::string bytes = "r";
  const auto add = [&](std::string_view word) { bytes.append(word).append(1, '\0'); };
  add(std::to_string(task.arguments.size()));
  for (const auto& argument : task.arguments) add(argument);
  for (const auto& variable : task.variables) add(variable);
  return bytes;
}

void keep_light(int socket, const LightPlace& place) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "longship-keeper");
  ::setpgid(0, 0);
  Keeper keeper(socket, place);
  keeper.enter_box();
  keeper.watch();
  ::_exit(0);
}

}  // namespace longship::pilot::detail
