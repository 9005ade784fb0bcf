// SPDX-License-Identifier: Apache-2.0
// After fork() in a process with threads nothing may allocate or lock, so all that the supervisor needs is
// made before, and its own words are put together in small buffers.
#include "supervisor.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/fd.h"
#include "claim.h"

namespace longship::batch {
namespace {

// Text without memory.
class Words {
 public:
  void add(const char* text) {
    while (*text != '\0' && size_ < sizeof bytes_) bytes_[size_++] = *text++;
  }
  void add(std::uint64_t number) {
    char digits[24];
    std::size_t count = 0;
    do digits[count++] = static_cast<char>('0' + number % 10);
    while ((number /= 10) > 0);
    while (count > 0 && size_ < sizeof bytes_) bytes_[size_++] = digits[--count];
  }
  [[nodiscard]] const char* data() const { return bytes_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  char bytes_[4096];
  std::size_t size_ = 0;
};

std::int64_t milliseconds_now() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

struct Prepared {
  std::string program, directory, output;
  std::vector<std::string> words, variables;
  std::vector<char*> arguments, environment;
  std::string place, process, process_aside, ended, ended_aside;
  std::string about;  // the rest of `process`
  std::int64_t walltime = 0, grace = 0;
  cpu_set_t cores{};
  bool bound = false;
};

std::string numbers(std::string_view key, const std::vector<int>& numbers) {
  std::string line(key);
  for (const int number : numbers) line += fmt::format(" {}", number);
  return numbers.empty() ? "" : line + "\n";
}

Prepared prepare(const Orders& orders) {
  Prepared made;
  made.words = orders.command;
  made.program = find_program(made.words[0]).value_or(made.words[0]).string();
  for (auto& word : made.words) made.arguments.push_back(word.data());
  made.arguments.push_back(nullptr);
  for (const auto& [name, value] : orders.environment) made.variables.push_back(name + "=" + value);
  for (auto& variable : made.variables) made.environment.push_back(variable.data());
  made.environment.push_back(nullptr);
  made.directory = orders.directory.empty() ? "/" : orders.directory.string();
  made.output = orders.output.empty() ? "/dev/null" : orders.output.string();
  made.place = orders.place.string();
  made.process = made.place + "/process";
  made.process_aside = aside_of(made.process);
  made.ended = made.place + "/ended";
  made.ended_aside = aside_of(made.ended);
  made.about = about_this_host() + numbers("cores", orders.cores) + numbers("gpus", orders.gpus);
  made.walltime = std::chrono::milliseconds(orders.walltime).count();
  made.grace = orders.grace.count();
  CPU_ZERO(&made.cores);
  for (const int core : orders.cores) CPU_SET(static_cast<unsigned>(core), &made.cores);
  made.bound = !orders.cores.empty();
  return made;
}

bool write_synced(const char* path, const Words& words) {
  const int fd = ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const bool good =
      ::write(fd, words.data(), words.size()) == static_cast<ssize_t>(words.size()) && ::fsync(fd) == 0;
  const int number = errno;
  ::close(fd);
  if (!good) ::unlink(path);
  errno = number;
  return good;
}

void sync_place(const char* place) {
  const int fd = ::open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

// 0, or why not: EEXIST if the place is somebody else's.
int claim(const Prepared& made) {
  Words words;
  words.add("pid ");
  words.add(static_cast<std::uint64_t>(::getpid()));
  words.add("\nstart ");
  words.add(own_start_time());
  words.add("\n");
  words.add(made.about.c_str());
  if (!write_synced(made.process_aside.c_str(), words)) return errno;
  const int number = ::link(made.process_aside.c_str(), made.process.c_str()) == 0 ? 0 : errno;
  ::unlink(made.process_aside.c_str());
  sync_place(made.place.c_str());
  return number;
}

[[noreturn]] void become_pilot(const Prepared& made, int report, pid_t parent) {
  const auto give_up = [&] {
    const int number = errno;
    (void)!::write(report, &number, sizeof number);
    ::_exit(127);
  };
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  if (made.bound) ::sched_setaffinity(0, sizeof made.cores, &made.cores);
  if (::chdir(made.directory.c_str()) != 0) give_up();
  const int output = ::open(made.output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (output < 0 || ::dup2(output, 1) < 0 || ::dup2(output, 2) < 0) give_up();
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(made.program.c_str(), made.arguments.data(), made.environment.data());
  give_up();
  ::_exit(127);
}

// The pilot's pid, or 0 with errno in `failed`.
pid_t start_pilot(const Prepared& made, int& failed) {
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) {
    failed = errno;
    return 0;
  }
  const pid_t self = ::getpid(), pilot = ::fork();
  if (pilot == 0) become_pilot(made, report[1], self);
  failed = pilot < 0 ? errno : 0;
  ::close(report[1]);
  if (pilot > 0) {
    ::setpgid(pilot, pilot);
    while (::read(report[0], &failed, sizeof failed) < 0 && errno == EINTR) {
    }
  }
  ::close(report[0]);
  if (pilot > 0 && failed != 0) ::waitpid(pilot, nullptr, 0);
  return failed == 0 ? pilot : 0;
}

// Whatever the pilot left has become our child.
void sweep() {
  for (int round = 0; round < 1000; ++round) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    char children[4096];
    const int fd = ::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    const auto got = fd < 0 ? 0 : ::read(fd, children, sizeof children);
    if (fd >= 0) ::close(fd);
    if (got <= 0) return;
    pid_t pid = 0;
    for (ssize_t i = 0; i < got; ++i) {
      if (children[i] >= '0' && children[i] <= '9') {
        pid = pid * 10 + (children[i] - '0');
      } else {
        if (pid > 0) ::kill(pid, SIGKILL);
        pid = 0;
      }
    }
    ::waitpid(-1, nullptr, 0);
  }
}

struct Ended {
  int status = 0;
  const char* asked = nullptr;
};

// Until the pilot has ended: signals to us, and its time, end it.
Ended watch(const Prepared& made, pid_t pilot) {
  Ended ended;
  sigset_t awaited;
  ::sigemptyset(&awaited);
  ::sigaddset(&awaited, SIGCHLD);
  ::sigaddset(&awaited, SIGTERM);
  std::int64_t deadline = made.walltime > 0 ? milliseconds_now() + made.walltime : INT64_MAX;
  const auto stop = [&](const char* asked) {
    if (ended.asked == nullptr) {
      ended.asked = asked;
      deadline = milliseconds_now() + made.grace;
      ::kill(-pilot, SIGTERM);
      ::kill(-pilot, SIGCONT);
    }
  };
  for (;;) {
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;)
      if (pid == pilot) {
        ended.status = status;
        return ended;
      }
    const auto left = std::clamp<std::int64_t>(deadline - milliseconds_now(), 0, 60'000);
    const timespec patience{left / 1000, (left % 1000) * 1'000'000};
    if (::sigtimedwait(&awaited, nullptr, &patience) == SIGTERM) stop("cancel");
    if (milliseconds_now() < deadline) continue;
    if (ended.asked == nullptr) {
      stop("walltime");
    } else {
      ::kill(-pilot, SIGKILL);
      deadline = milliseconds_now() + 1000;
    }
  }
}

void write_end(const Prepared& made, const char* kind, int number, const char* asked) {
  Words words;
  words.add(kind);
  words.add(" ");
  words.add(static_cast<std::uint64_t>(number));
  words.add("\n");
  if (asked != nullptr) {
    words.add("asked ");
    words.add(asked);
    words.add("\n");
  }
  if (!write_synced(made.ended_aside.c_str(), words)) return;
  ::rename(made.ended_aside.c_str(), made.ended.c_str());
  sync_place(made.place.c_str());
}

[[noreturn]] void supervise(const Prepared& made, int answer) {
  ::prctl(PR_SET_NAME, "longship-local");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::signal(SIGCHLD, SIG_DFL);
  ::signal(SIGTERM, SIG_DFL);
  ::signal(SIGPIPE, SIG_DFL);
  (void)!::chdir("/");
  const int claimed = claim(made);
  (void)!::write(answer, &claimed, sizeof claimed);
  ::close(answer);
  if (claimed != 0) ::_exit(0);
  int failed = 0;
  const pid_t pilot = start_pilot(made, failed);
  if (pilot == 0) {
    write_end(made, "not-started", failed, nullptr);
    ::_exit(0);
  }
  const auto ended = watch(made, pilot);
  ::kill(-pilot, SIGKILL);
  sweep();
  if (WIFSIGNALED(ended.status))
    write_end(made, "killed", WTERMSIG(ended.status), ended.asked);
  else
    write_end(made, "exited", WEXITSTATUS(ended.status), ended.asked);
  ::_exit(0);
}

// Nothing of the caller's goes along: neither its locks nor the pipes somebody reads to their end.
void let_go(int kept) {
  const int high = ::fcntl(kept, F_DUPFD_CLOEXEC, 3);
  ::dup2(high, 3);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int standard = 0; standard <= 2; ++standard) ::dup2(null, standard);
  if (::syscall(SYS_close_range, 4U, ~0U, 0) == 0) return;
  const auto limit = static_cast<int>(::sysconf(_SC_OPEN_MAX));  // before Linux 5.9
  for (int fd = 4; fd < limit; ++fd) ::close(fd);
}

// All signals wait while we fork, so that a handler of ours never runs in a child.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

void start_supervisor(const Orders& orders) {
  const auto made = prepare(orders);
  Pipe answer = make_pipe();
  pid_t middle = 0;
  {
    const SignalsBlocked blocked;
    middle = ::fork();
    if (middle == 0) {
      ::setsid();
      if (::fork() != 0) ::_exit(0);
      let_go(answer.write.get());
      supervise(made, 3);
    }
  }
  if (middle < 0) throw Error::from_errno(errno, "cannot start {}", made.program);
  while (::waitpid(middle, nullptr, 0) < 0 && errno == EINTR) {
  }
  answer.write.reset();
  int claimed = ECHILD;
  while (::read(answer.read.get(), &claimed, sizeof claimed) < 0 && errno == EINTR) {
  }
  if (claimed != 0 && claimed != EEXIST) throw Error::from_errno(claimed, "cannot write {}", made.process);
}

}  // namespace longship::batch
