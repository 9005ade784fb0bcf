// SPDX-License-Identifier: Apache-2.0
#include "keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "box.h"
#include "hand_over.h"
#include "small_file.h"

namespace longship::box {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr const char* keeper_name = "longship-box";
pid_t started_here = 0;                      // the keeper that this process started last
constexpr milliseconds soon{100};            // to ask again what no descriptor tells
constexpr milliseconds for_the_first{1000};  // whoever started the keeper is on its way

// The first box's process may be bound to a core, which the keeper would share with it; what the machine
// does not give us it leaves out.
void unbind() {
  cpu_set_t all;
  std::fill_n(reinterpret_cast<unsigned char*>(&all), sizeof all, static_cast<unsigned char>(0xff));
  ::sched_setaffinity(0, sizeof all, &all);
}

// One for each that is inside.
void allow_many_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// A process that is inside; watched without being its parent.
struct Member {
  pid_t pid = 0;
  Fd handle;  // none before Linux 5.3: then asked for again and again
  Fd peer;    // until it has handed over,
  Fd space;   // if it does, the namespace of its mounts, which then ends here

  Member(pid_t number, Fd connection)
      : pid(number),
        handle(static_cast<int>(::syscall(SYS_pidfd_open, number, 0))),
        peer(std::move(connection)) {}
  [[nodiscard]] bool gone() const {
    if (!handle) return ::kill(pid, 0) != 0 && errno == ESRCH;
    pollfd polled{handle.get(), POLLIN, 0};
    return ::poll(&polled, 1, 0) > 0;
  }
};

class Keeper {
 public:
  Keeper(Meeting& meeting, const Hospitality& hospitality)
      : meeting_(meeting), hospitality_(hospitality), linger_(hospitality.linger) {
    add_member(hospitality.first, {});
    if (!members_.empty()) return;
    empty_since_ = Clock::now();
    linger_ = std::max(linger_, for_the_first);
  }

  void run() {
    for (;;) {
      const bool stopped = wait_for_news();
      let_in();
      do_later();
      std::erase_if(members_, [](const Member& member) { return member.gone(); });
      if (!members_.empty()) empty_since_.reset();
      if (members_.empty() && !empty_since_) empty_since_ = Clock::now();
      if ((stopped || left() == milliseconds(0)) && meeting_.give_up()) break;
      if (stopped)
        ::poll(nullptr, 0, static_cast<int>(soon.count()));  // whoever decides now will be gone then
    }
    let_in();
    meeting_.stop_listening();  // whoever comes now has to start anew
  }

 private:
  // True: there is nothing to give any more.
  bool wait_for_news() {
    std::vector<pollfd> polled = {{meeting_.listening(), POLLIN, 0}, {hospitality_.stop, POLLIN, 0}};
    bool ask_again = false;
    for (const auto& member : members_) {
      if (member.handle)
        polled.push_back({member.handle.get(), POLLIN, 0});
      else
        ask_again = true;
    }
    const auto wait = left();
    int patience = wait ? static_cast<int>(std::max(*wait, refused_ ? soon : milliseconds(0)).count()) : -1;
    if (ask_again || (later_at_ && !wait)) patience = static_cast<int>(soon.count());
    for (const auto& member : members_)
      if (member.peer) polled.push_back({member.peer.get(), POLLIN, 0});
    ::poll(polled.data(), polled.size(), patience);
    take_namespaces();
    refused_ = wait == milliseconds(0);  // it was time, but the name was not free to be given up
    return polled[1].revents != 0;
  }

  // Until it is time to go; nothing while somebody is inside.
  [[nodiscard]] std::optional<milliseconds> left() const {
    if (!empty_since_) return {};
    const auto passed = std::chrono::floor<milliseconds>(Clock::now() - *empty_since_);
    return std::max(linger_ - passed, milliseconds(0));
  }

  void do_later() {
    if (!later_at_ || Clock::now() < *later_at_) return;
    later_at_.reset();
    hospitality_.later();
  }

  void take_namespaces() {
    for (auto& member : members_) {
      pollfd polled{member.peer.get(), POLLIN, 0};
      if (!member.peer || ::poll(&polled, 1, 0) <= 0) continue;
      std::byte nothing{};
      auto received = receive(member.peer.get(), {&nothing, 1});
      if (received.descriptors.size() == 1) member.space = std::move(received.descriptors[0]);
      member.peer.reset();
    }
  }

  void let_in() {
    for (;;) {
      Fd peer(::accept4(meeting_.listening(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!peer && errno == EAGAIN) return;
      if (!peer) {  // out of descriptors, until somebody leaves
        ::poll(nullptr, 0, static_cast<int>(soon.count()));
        return;
      }
      const auto who = peer_of(peer.get());
      if (who.uid != ::geteuid()) continue;
      hospitality_.give(peer.get());  // first of all: it waits
      add_member(who.pid, std::move(peer));
      empty_since_.reset();
      linger_ = hospitality_.linger;
      if (hospitality_.later && !std::exchange(received_, true)) later_at_ = Clock::now() + soon;
    }
  }

  void add_member(pid_t pid, Fd peer) {
    if (pid > 0) members_.emplace_back(pid, std::move(peer));  // 0: of a namespace that we cannot look into
  }

  Meeting& meeting_;
  const Hospitality& hospitality_;
  milliseconds linger_;
  std::vector<Member> members_;
  std::optional<Clock::time_point> empty_since_, later_at_;
  bool refused_ = false, received_ = false;
};

}  // namespace

// Its name, which anybody could take, and that it is the one which was started here, or this very program: a
// process in a box may not look at what programs outside are.
bool is_keeper(pid_t process) {
  const auto about = fmt::format("/proc/{}/", process);
  if (trim(read_small_file(about + "comm").value_or("")) != keeper_name) return false;
  if (process == started_here) return true;
  struct stat theirs {
  }, ours{};
  return ::stat((about + "exe").c_str(), &theirs) == 0 && ::stat("/proc/self/exe", &ours) == 0 &&
         theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev;
}

void start_keeper(const std::function<void()>& work) {
  Pipe told = make_pipe();
  const pid_t child = ::fork();
  if (child < 0) throw Error::from_errno(errno, "cannot start the keeper of the box");
  if (child == 0) {
    const pid_t keeper = ::fork();  // twice, so that it is not the command's child
    if (keeper != 0) ::_exit(::write(told.write.get(), &keeper, sizeof keeper) > 0 && keeper > 0 ? 0 : 1);
    ::setsid();
    be_keeper();
    try {
      work();
    } catch (const std::exception&) {
      ::_exit(1);  // whoever waits sees the socket close
    }
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0 || ::read(told.read.get(), &started_here, sizeof started_here) != sizeof started_here)
    throw Error("cannot start the keeper of the box");
}

void be_keeper() {
  ::prctl(PR_SET_NAME, keeper_name);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_IGN);
  unbind();
  allow_many_descriptors();
}

void keep_open(Meeting& meeting, const Hospitality& hospitality) {
  Keeper(meeting, hospitality).run();
}

}  // namespace longship::box
