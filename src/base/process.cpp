// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "error.h"
#include "file.h"
#include "text.h"

extern char** environ;

namespace longship {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

// Everything that needs memory is made before fork; between fork and exec only system calls are allowed.
struct Prepared {
  std::string program;
  std::vector<char*> arguments;
  std::vector<std::string> variables;
  std::vector<char*> environment;
};

Prepared prepare(const Command& command) {
  if (command.arguments.empty()) throw Error("cannot run a command without a name");
  Prepared prepared;
  const auto found = find_program(command.arguments[0]);
  prepared.program = found ? found->string() : command.arguments[0];  // exec will say why not
  for (const auto& argument : command.arguments)
    prepared.arguments.push_back(const_cast<char*>(argument.c_str()));
  prepared.arguments.push_back(nullptr);
  if (command.environment) {
    for (const auto& [name, value] : *command.environment) prepared.variables.push_back(name + "=" + value);
    for (auto& variable : prepared.variables) prepared.environment.push_back(variable.data());
    prepared.environment.push_back(nullptr);
  }
  return prepared;
}

// Makes `from` the descriptor `to`; dup2 of a number onto itself would leave it close-on-exec.
bool place(int from, int to) {
  if (from == to) return ::fcntl(from, F_SETFD, 0) == 0;
  return ::dup2(from, to) >= 0;
}

[[noreturn]] void become(const Command& command, const Prepared& prepared, int report, pid_t parent) {
  const auto give_up = [&] {
    const int number = errno;
    (void)!::write(report, &number, sizeof number);
    ::_exit(127);
  };
  if (command.own_group && ::setpgid(0, 0) != 0) give_up();
  if (command.die_with_parent) {
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up();
    if (::getppid() != parent) ::_exit(127);  // it went before we asked
  }
  const int input = command.input >= 0 ? command.input : ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  // A wanted descriptor may itself be 0, 1 or 2: move all three out of the way first.
  int wanted[3] = {input, command.output >= 0 ? command.output : 1, command.errors >= 0 ? command.errors : 2};
  for (int i = 0; i < 3; ++i)
    if (wanted[i] < 3 && wanted[i] != i) wanted[i] = ::fcntl(wanted[i], F_DUPFD_CLOEXEC, 3);
  for (int i = 0; i < 3; ++i)
    if (!place(wanted[i], i)) give_up();
  if (!command.directory.empty() && ::chdir(command.directory.c_str()) != 0) give_up();

  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::execve(prepared.program.c_str(), prepared.arguments.data(),
           command.environment ? prepared.environment.data() : environ);
  give_up();
  ::_exit(127);
}

Ending ending_of(int status) {
  if (WIFSIGNALED(status)) return {0, WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

std::string signal_name(int number) {
  switch (number) {  // sigabbrev_np() would need glibc 2.32
    case SIGHUP:
      return "SIGHUP";
    case SIGINT:
      return "SIGINT";
    case SIGQUIT:
      return "SIGQUIT";
    case SIGILL:
      return "SIGILL";
    case SIGABRT:
      return "SIGABRT";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGKILL:
      return "SIGKILL";
    case SIGUSR1:
      return "SIGUSR1";
    case SIGSEGV:
      return "SIGSEGV";
    case SIGUSR2:
      return "SIGUSR2";
    case SIGPIPE:
      return "SIGPIPE";
    case SIGALRM:
      return "SIGALRM";
    case SIGTERM:
      return "SIGTERM";
    case SIGXCPU:
      return "SIGXCPU";
    case SIGXFSZ:
      return "SIGXFSZ";
    case SIGSYS:
      return "SIGSYS";
    default:
      return fmt::format("signal {}", number);
  }
}

milliseconds until(Steady::time_point deadline) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(deadline - Steady::now()));
}

// The three streams of a running program, moved until they end.
class Streams {
 public:
  Streams(Fd to_input, Fd from_output, Fd from_errors, const RunOptions& options)
      : input_(std::move(to_input)),
        output_(std::move(from_output)),
        errors_(std::move(from_errors)),
        left_(options.input),
        limit_(options.output_limit) {
    for (const auto* fd : {&input_, &output_, &errors_}) ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
    if (left_.empty()) input_.reset();
  }
  [[nodiscard]] bool open() const { return output_ || errors_; }
  void move(milliseconds patience) {
    pollfd polled[3] = {{output_.get(), POLLIN, 0}, {errors_.get(), POLLIN, 0}, {input_.get(), POLLOUT, 0}};
    if (::poll(polled, 3, static_cast<int>(patience.count())) <= 0) return;
    if (polled[0].revents != 0) take(output_, output);
    if (polled[1].revents != 0) take(errors_, errors);
    if (polled[2].revents != 0) give();
  }
  std::string output, errors;

 private:
  void take(Fd& from, std::string& into) const {
    char buffer[65536];
    const auto got = ::read(from.get(), buffer, sizeof buffer);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) from.reset();
    if (got > 0)
      into.append(buffer, std::min(static_cast<std::size_t>(got), limit_ - std::min(limit_, into.size())));
  }
  void give() {
    const auto written = ::write(input_.get(), left_.data(), left_.size());
    if (written > 0) left_.remove_prefix(static_cast<std::size_t>(written));
    const bool refused = written < 0 && errno != EAGAIN && errno != EINTR;
    if (left_.empty() || refused) input_.reset();
  }
  Fd input_, output_, errors_;
  std::string_view left_;
  std::size_t limit_;
};

// A program that closes its input early must not kill us.
class PipeSignalIgnored {
 public:
  PipeSignalIgnored() : before_(::signal(SIGPIPE, SIG_IGN)) {}
  PipeSignalIgnored(const PipeSignalIgnored&) = delete;
  PipeSignalIgnored& operator=(const PipeSignalIgnored&) = delete;
  ~PipeSignalIgnored() { ::signal(SIGPIPE, before_); }

 private:
  void (*before_)(int);
};

std::string last_line(std::string_view text) {
  text = trim(text);
  const auto end = text.rfind('\n');
  return printable(end == std::string_view::npos ? text : text.substr(end + 1));
}

}  // namespace

Environment current_environment() {
  Environment variables;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view variable = *at;
    if (const auto equals = variable.find('='); equals != std::string_view::npos && equals > 0)
      variables.emplace(variable.substr(0, equals), variable.substr(equals + 1));
  }
  return variables;
}

std::string Ending::sentence() const {
  if (signal != 0) return "was killed by " + signal_name(signal);
  return fmt::format("exited with code {}", code);
}

Process::Process(const Command& command) : own_group_(command.own_group) {
  const Prepared prepared = prepare(command);
  Pipe report = make_pipe();
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw Error::from_errno(errno, "cannot start {}", command.arguments[0]);
  if (pid_ == 0) become(command, prepared, report.write.get(), parent);
  if (own_group_) ::setpgid(pid_, pid_);  // here too: whoever comes first, so that signal() never misses
  report.write.reset();
  int number = 0;
  ssize_t got = 0;
  do got = ::read(report.read.get(), &number, sizeof number);
  while (got < 0 && errno == EINTR);
  if (got == sizeof number) {  // exec failed; success closes the pipe without a word
    ::waitpid(pid_, nullptr, 0);
    throw Error::from_errno(number, "cannot run {}", printable(command.arguments[0]));
  }
  pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      own_group_(other.own_group_),
      ending_(other.ending_) {}

Process::~Process() {
  if (pid_ < 0 || ending_) return;
  signal(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Process::signal(int number) {
  if (pid_ > 0 && !ending_) ::kill(own_group_ ? -pid_ : pid_, number);
}

std::optional<Ending> Process::wait(std::optional<milliseconds> timeout) {
  const auto deadline = timeout ? Steady::now() + *timeout : Steady::time_point::max();
  while (!ending_) {
    int status = 0;
    const pid_t ended = ::waitpid(pid_, &status, timeout ? WNOHANG : 0);
    if (ended == pid_)
      ending_ = ending_of(status);
    else if (ended < 0 && errno != EINTR)
      throw Error::from_errno(errno, "cannot wait for process {}", pid_);
    else if (ended == 0) {
      const auto left = until(deadline);
      if (left.count() == 0) return {};
      pollfd polled{pidfd_.get(), POLLIN, 0};
      // Without a pidfd (before Linux 5.3) poll only sleeps, so look again soon.
      const auto patience = pidfd_ ? std::min(left, milliseconds(60'000)) : std::min(left, milliseconds(5));
      ::poll(&polled, 1, static_cast<int>(patience.count()));
    }
  }
  return ending_;
}

Outcome run(Command command, const RunOptions& options) {
  const PipeSignalIgnored ignored;
  Pipe input = make_pipe(), output = make_pipe(), errors = make_pipe();
  command.input = input.read.get();
  command.output = output.write.get();
  command.errors = errors.write.get();
  Process process(command);
  input.read.reset();
  output.write.reset();
  errors.write.reset();

  Streams streams(std::move(input.write), std::move(output.read), std::move(errors.read), options);
  Outcome outcome;
  auto deadline = Steady::now() + options.timeout;
  std::optional<Ending> ending;
  while (!ending || streams.open()) {
    // A grandchild may hold the pipes after the program has ended: then take what is there, and no more.
    if (streams.open()) streams.move(ending ? milliseconds(0) : std::min(until(deadline), milliseconds(100)));
    if (ending) break;
    ending = process.wait(streams.open() ? milliseconds(0) : until(deadline));
    if (ending || until(deadline).count() > 0) continue;
    process.signal(outcome.timed_out ? SIGKILL : SIGTERM);
    outcome.timed_out = true;
    deadline = Steady::now() + std::chrono::seconds(2);
  }
  outcome.ending = *ending;
  outcome.output = std::move(streams.output);
  outcome.errors = std::move(streams.errors);
  return outcome;
}

std::string output_of(Command command, const RunOptions& options) {
  const std::string name = command.arguments.empty() ? "" : command.arguments[0];
  Outcome outcome = run(std::move(command), options);
  if (outcome.timed_out) throw Error("{} did not end within {} s", name, options.timeout.count() / 1000);
  if (outcome.ending.ok()) return std::move(outcome.output);
  const auto said = last_line(outcome.errors);
  throw Error("{} {}{}{}", name, outcome.ending.sentence(), said.empty() ? "" : ": ", said);
}

std::optional<std::filesystem::path> find_program(std::string_view name) {
  const auto runnable = [](const std::filesystem::path& path) {
    struct stat about {};
    return ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) && ::access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string_view::npos) {
    if (runnable(name)) return std::filesystem::path(name);
    return {};
  }
  const char* path = std::getenv("PATH");
  for (const auto directory : split(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin", ':')) {
    const auto candidate = std::filesystem::path(directory.empty() ? "." : directory) / name;
    if (runnable(candidate)) return candidate;
  }
  return {};
}

}  // namespace longship
