// SPDX-License-Identifier: Apache-2.0
#include "ranks.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "keeper.h"
#include "limits.h"

namespace longship::launch {
namespace {

using namespace std::chrono_literals;

// Not every kernel lists children; without it only the process groups are killed.
std::vector<pid_t> children_of_this_process() {
  std::vector<pid_t> children;
  try {
    const auto list = read_file("/proc/thread-self/children");
    for (const auto word : split(trim(list), ' '))
      if (!word.empty()) children.push_back(std::atoi(std::string(word).c_str()));
  } catch (const Error&) {
  }
  return children;
}

bool reap_one(pid_t& pid) {
  int status = 0;
  pid = ::waitpid(-1, &status, WNOHANG);
  return pid > 0;
}

}  // namespace

void sweep() {
  // Each kill may hand us the next generation. A process that does not die of SIGKILL hangs in the kernel:
  // it is not worth waiting for.
  const auto patience = std::chrono::steady_clock::now() + 5s;
  while (std::chrono::steady_clock::now() < patience) {
    pid_t pid = 0;
    while (reap_one(pid)) {
    }
    if (pid < 0) return;  // no child is left
    auto children = children_of_this_process();
    std::erase_if(children, box::is_keeper);  // it belongs to the ranks of other helpers too
    if (children.empty()) return;
    for (const pid_t child : children) ::kill(child, SIGKILL);
    std::this_thread::sleep_for(1ms);
  }
}

Ranks::Ranks(const std::vector<RankStart>& starts, const box::Spec* box, const std::string& directory)
    : alive_(starts.size(), true) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    throw Error::from_errno(errno, "cannot start ranks");
  socket_.reset(pair[0]);
  const Fd theirs(pair[1]);
  std::vector<Pipe> pipes;
  std::vector<detail::RankPipes> write_ends;
  for (std::size_t rank = 0; rank < starts.size(); ++rank) {
    Pipe out = make_pipe(), err = make_pipe();
    write_ends.push_back({out.write.get(), err.write.get()});
    outputs.push_back({std::move(out.read), std::move(err.read)});
    pipes.push_back({Fd(), std::move(out.write)});
    pipes.push_back({Fd(), std::move(err.write)});
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  keeper_ = ::fork();
  if (keeper_ < 0) throw cannot_fork(errno, 0, starts.size());
  if (keeper_ == 0) {
    socket_.reset();
    outputs.clear();
    detail::keep(theirs.get(), starts, write_ends, box, directory);
  }
}

Ranks::~Ranks() {
  ::kill(keeper_, started_ ? 0 : SIGKILL);
  socket_.reset();  // the keeper kills what runs, and ends
  while (::waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) {
  }
  sweep();
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

std::optional<RankEvent> Ranks::next() {
  detail::KeeperWord word{};
  const auto got = ::recv(socket_.get(), &word, sizeof word, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  if (got != sizeof word) return keeper_died();
  switch (word.kind) {
    case detail::KeeperWord::started:
      started_ = true;
      return AllStarted{};
    case detail::KeeperWord::ended:
      alive_[static_cast<std::size_t>(word.rank)] = false;
      return OneEnded{word.rank, {word.code, word.signal}};
    case detail::KeeperWord::gone:
      return AllGone{};
    case detail::KeeperWord::failed:
      throw Error(static_cast<Failure>(word.code), "{}", word.text);
  }
  return {};
}

// By somebody's kill -9: the kernel killed the ranks with it.
std::optional<RankEvent> Ranks::keeper_died() {
  for (std::size_t rank = 0; rank < alive_.size(); ++rank) {
    if (!alive_[rank]) continue;
    alive_[rank] = false;
    return OneEnded{static_cast<int>(rank), {0, SIGKILL}};
  }
  return AllGone{};
}

void Ranks::signal(int rank, int number) {
  if (!started_) {
    ::kill(keeper_, SIGKILL);
    return;
  }
  const detail::LauncherWord word{rank, number};
  ::send(socket_.get(), &word, sizeof word, MSG_NOSIGNAL);
}

}  // namespace longship::launch
