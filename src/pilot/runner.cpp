// SPDX-License-Identifier: Apache-2.0
#include "runner.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/file.h"
#include "launch/allocation.h"

namespace longship::pilot {
namespace {

using message::Ended;
using message::FromPilot;

constexpr std::size_t longest_reason = 4000;

// What the runner says is put into the words of a pilot: they have a form in bytes already.
Ended to_message(const message::AttemptId& attempt, const Done& done) {
  Ended ended;
  ended.attempt = attempt;
  ended.exit_code = done.exit_code;
  ended.reason = done.reason.substr(0, longest_reason);
  ended.outputs = done.outputs;
  ended.duration = done.duration;
  ended.checkpoint = done.checkpoint;
  using How = Done::How;
  ended.outcome = done.how == How::finished  ? message::Outcome::finished
                  : done.how == How::failed  ? message::Outcome::failed
                  : done.how == How::stopped ? message::Outcome::cancelled
                                             : message::Outcome::lost;
  return ended;
}

Done to_done(const Ended& ended) {
  using message::Outcome;
  Done done;
  done.exit_code = ended.exit_code;
  done.reason = ended.reason;
  done.outputs = ended.outputs;
  done.duration = ended.duration;
  done.checkpoint = ended.checkpoint;
  done.how = ended.outcome == Outcome::finished    ? Done::How::finished
             : ended.outcome == Outcome::failed    ? Done::How::failed
             : ended.outcome == Outcome::cancelled ? Done::How::stopped
                                                   : Done::How::lost;
  return done;
}

// The runner's side.
class Reporter {
 public:
  Reporter(Fd socket, message::AttemptId attempt)
      : socket_(std::move(socket)), attempt_(std::move(attempt)) {}

  void say(const FromPilot& what) {
    const auto frame = message::with_length(message::encode(std::vector<FromPilot>{what}));
    write_all(socket_.get(), frame);
  }
  void say(const record::LiveMetrics& metrics) {
    say(message::Beat{{attempt_}, {metrics.step, metrics.steps, metrics.values}});
  }
  void say(const Done& done) { say(to_message(attempt_, done)); }

  // The pilot passes the failpoint, so that the pilot is what it strikes.
  void pass(std::string_view step) {
    if (!detail::failpoints_set) return;
    say(message::Left{std::string(step)});
    while (!acknowledged_) {
      pollfd polled{socket_.get(), POLLIN, 0};
      ::poll(&polled, 1, -1);
      listen();
    }
    acknowledged_ = false;
  }
  [[nodiscard]] bool stop() { return listen(), stop_; }
  [[nodiscard]] bool checkpoint() { return listen(), checkpoint_; }

 private:
  void listen() {
    char orders[16];
    const auto got = ::recv(socket_.get(), orders, sizeof orders, MSG_DONTWAIT);
    if (got == 0) ::_exit(1);  // the pilot is gone, and the kernel is about to kill us
    for (ssize_t i = 0; i < got; ++i) {
      stop_ = stop_ || orders[i] == 's';
      checkpoint_ = checkpoint_ || orders[i] == 'c';
      acknowledged_ = acknowledged_ || orders[i] == 'k';
    }
  }
  Fd socket_;
  message::AttemptId attempt_;
  bool stop_ = false, checkpoint_ = false, acknowledged_ = false;
};

// A batch system signals every process of the allocation. What is to be done is the pilot's decision: here
// the signals are heard and have no effect; what we start begins with the usual ones again.
void hear_no_signals() {
  struct sigaction nothing {};
  nothing.sa_handler = [](int) {};
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    ::sigaction(number, &nothing, nullptr);
    ::sigaddset(&set, number);
  }
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

// What the ranks say is in files.
class Nowhere final : public launch::Sink {
 public:
  void take(int, launch::Stream, std::string_view) override {}
  void finish() override {}
  std::vector<launch::Outlet*> outlets() override { return {}; }
};

// Across nodes, and of MPI's ranks and an engine's, the output comes through a Screen. Our own warnings stay
// only where none is needed.
void redirect_screen(const job::Job& job, launch::Engine engine) {
  const Fd null = open_file("/dev/null", O_RDWR);
  ::dup2(null.get(), 1);
  const auto allocation = launch::current_allocation(current_environment());
  const bool in_engine = engine != launch::Engine::own && !job.image.empty();
  if ((allocation && !allocation->here) || job.launch == job::Launch::mpi || in_engine) ::dup2(null.get(), 2);
}

// The pilot's lock, logs and signals are not ours: a lock would outlive the pilot with us.
Fd keep_this_alone(Fd socket) {
  constexpr int place = 3;
  const int number = socket.release();
  if (number != place) ::dup3(number, place, O_CLOEXEC);
  if (::close_range(place + 1, ~0U, 0) != 0)
    for (int fd = place + 1; fd < 4096; ++fd) ::close(fd);
  return Fd(place);
}

[[noreturn]] void be_runner(Fd socket, pid_t pilot, const Berth& berth, const Start& start) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != pilot) ::_exit(1);
  ::prctl(PR_SET_NAME, "longship-runner");
  ::setpgid(0, 0);
  try {
    Reporter reporter(keep_this_alone(std::move(socket)), start.assignment.attempt);
    launch::Interruptions interruptions;
    hear_no_signals();
    redirect_screen(*start.job, berth.engine);
    launch::Screen screen({.prefix = false});
    Nowhere nowhere;
    Watcher watcher{interruptions,
                    screen,
                    [&](const record::LiveMetrics& metrics) { reporter.say(metrics); },
                    [&] { return reporter.stop(); },
                    [&] { return reporter.checkpoint(); },
                    [&](std::string_view step) { reporter.pass(step); },
                    &nowhere};
    reporter.say(carry_out_assignment(berth, start, watcher));
  } catch (...) {  // the pilot is told by our end
    ::_exit(1);
  }
  ::_exit(0);
}

}  // namespace

Runner::Runner(const Berth& berth, const Start& start) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    throw Error::from_errno(errno, "cannot start the runner of {}", start.assignment.attempt.text());
  socket_.reset(pair[0]);
  Fd theirs(pair[1]);
  const pid_t pilot = ::getpid();
  child_ = ::fork();
  if (child_ < 0)
    throw Error::from_errno(errno, "cannot start the runner of {}", start.assignment.attempt.text());
  if (child_ == 0) {
    socket_.reset();
    be_runner(std::move(theirs), pilot, berth, start);
  }
}

Runner::~Runner() {
  if (child_ < 0) return;
  ::kill(child_, SIGKILL);
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Runner::order(char what) {
  (void)!::send(socket_.get(), &what, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

std::optional<RunnerEvent> Runner::next() {
  for (;;) {
    if (frames_.next(frame_)) {
      if (auto event = understand(frame_)) return event;
      continue;
    }
    char buffer[65536];
    const auto got = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {};
    if (got <= 0) return died();
    frames_.add({buffer, static_cast<std::size_t>(got)});
  }
}

std::optional<RunnerEvent> Runner::understand(const std::string& frame) {
  const auto messages = message::decode_from_pilot(frame);
  if (const auto* beat = std::get_if<message::Beat>(&messages.at(0))) return Progress{beat->metrics};
  if (const auto* ended = std::get_if<Ended>(&messages.at(0))) return to_done(*ended);
  if (const auto* passed = std::get_if<message::Left>(&messages.at(0))) {
    failpoint("pilot." + passed->reason);
    order('k');
  }
  return {};
}

Done Runner::died() {
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  const Ending ending = WIFSIGNALED(status) ? Ending{0, WTERMSIG(status)} : Ending{WEXITSTATUS(status), 0};
  Done done;
  done.how = Done::How::lost;
  done.exit_code = 1;
  done.reason = "the process that carried it out " + ending.sentence();
  return done;
}

}  // namespace longship::pilot
