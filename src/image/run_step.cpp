// SPDX-License-Identifier: Apache-2.0
#include "run_step.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/error.h"
#include "base/fd.h"
#include "base/file.h"
#include "box/box.h"
#include "bytes.h"

namespace longship::image {
namespace {

box::Spec spec_of(const RunStep& step) {
  box::Spec spec;
  spec.root = step.root;
  spec.home = false;
  spec.private_tmp = true;
  spec.writable = box::Writable::directory;
  spec.upper = step.upper;
  spec.unpacked = step.unpacked;
  spec.share = false;
  spec.fake_root = true;
  spec.working_directory = step.working_directory.empty() ? "/" : step.working_directory;
  spec.binds.push_back(
      {.from = "/etc/resolv.conf", .to = "/etc/resolv.conf", .read_only = true, .optional = true});
  return spec;
}

// In the child. The kind of failure and its text go through the pipe, which an exec closes.
[[noreturn]] void be_the_step(const RunStep& step, const Fd& pipe) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, STDIN_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  try {
    box::enter(spec_of(step));
    box::execute(step.command, step.environment);
  } catch (const Error& error) {
    const std::string text = std::to_string(static_cast<int>(error.failure())) + error.what();
    [[maybe_unused]] const auto written = ::write(pipe.get(), text.data(), text.size());
  } catch (...) {
    [[maybe_unused]] const auto written = ::write(pipe.get(), "1it failed", 10);
  }
  ::_exit(125);
}

}  // namespace

void run_step(const RunStep& step) {
  Pipe pipe = make_pipe();
  const pid_t child = ::fork();
  if (child < 0) throw Error::from_errno(errno, "cannot start a process");
  if (child == 0) be_the_step(step, pipe.write);
  pipe.write.reset();
  FileSource source(std::move(pipe.read));
  const std::string failure = read_rest(source, 64 * 1024);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw Error::from_errno(errno, "cannot wait for the command");
  if (!failure.empty()) throw Error(static_cast<Failure>(failure.front() - '0'), "{}", failure.substr(1));
  const Ending ending{WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                      WIFSIGNALED(status) ? WTERMSIG(status) : 0};
  if (!ending.ok()) throw Error("the command {}", ending.sentence());
}

}  // namespace longship::image
