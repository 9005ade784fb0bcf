// SPDX-License-Identifier: Apache-2.0
#include "light.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "launch/node.h"
#include "light_keeper.h"

namespace longship::pilot {
namespace fs = std::filesystem;
namespace {

detail::LightTask task_of(const Start& start, const fs::path& work) {
  const auto& job = *start.job;
  const auto& attempt = start.assignment.attempt;
  detail::LightTask task;
  task.directory = work.string();
  const auto found = find_program(job.command.at(0));
  task.program = found ? found->string() : job.command[0];
  task.arguments = job.command;
  for (const auto& [name, value] : job.environment) task.variables.push_back(name + "=" + value);
  for (const auto* variable : {"RANK=0", "WORLD_SIZE=1", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1"})
    task.variables.emplace_back(variable);
  task.variables.push_back("LONGSHIP_JOB=" + attempt.job);
  task.variables.push_back("LONGSHIP_ATTEMPT=" + std::to_string(attempt.number));
  return task;
}

std::size_t size_of(const job::Job& job) {
  std::size_t size = 4096;  // the rest
  for (const auto& argument : job.command) size += argument.size() + 1;
  for (const auto& [name, value] : job.environment) size += name.size() + value.size() + 2;
  return size;
}

struct stat about(int fd) {
  struct stat status {};
  ::fstat(fd, &status);
  return status;
}

void send_task(int socket, const std::string& packet, int out, int err) {
  iovec part{const_cast<char*>(packet.data()), packet.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  cmsghdr* rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(2 * sizeof(int));
  const int fds[2] = {out, err};
  std::memcpy(CMSG_DATA(rights), fds, sizeof fds);
  if (::sendmsg(socket, &header, MSG_NOSIGNAL) < 0) throw Error::from_errno(errno, "cannot hand the task on");
}

void make_private(const fs::path& directory) {
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    throw Error::from_errno(errno, "cannot make {}", directory.string());
}

}  // namespace

bool is_light(const Start& start) {
  const auto& job = *start.job;
  const auto& assignment = start.assignment;
  return job.launch == job::Launch::single && job.needs.nodes == 1 && job.image.empty() &&
         assignment.image.empty() && assignment.code.digest.empty() && job.data.empty() &&
         job.outputs.keep.empty() && !job.checkpoint && job.needs.gpus_per_rank == 0 &&
         !job.command.empty() && size_of(job) < detail::largest_packet;
}

Light::Light(message::Spool spool, fs::path work, std::string node)
    : spool_(std::move(spool)), work_(std::move(work)), node_(std::move(node)) {
  make_work();
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    throw Error::from_errno(errno, "cannot start tasks");
  socket_.reset(pair[0]);
  const Fd theirs(pair[1]);
  keeper_ = ::fork();
  if (keeper_ < 0) throw Error::from_errno(errno, "cannot start tasks");
  if (keeper_ == 0) {
    const int socket = ::dup3(theirs.get(), 3, O_CLOEXEC) < 0 ? theirs.get() : 3;
    if (::close_range(4, ~0U, 0) != 0)
      for (int fd = 4; fd < 4096; ++fd) ::close(fd);
    detail::keep_light(socket);
  }
}

Light::~Light() {
  socket_.reset();  // the keeper kills what runs, and ends
  while (keeper_ > 0 && ::waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) {
  }
  remove_tree(work_);
}

void Light::start(const Start& start) {
  attempt_ = start.assignment.attempt;
  begun_ = std::chrono::steady_clock::now();
  named_ = stopped_ = false;
  unkept_.clear();
  prepare_files();
  send_task(socket_.get(), detail::pack(task_of(start, work_)), out_.get(), err_.get());
}

// Without a name where the file system can do that; elsewhere with one from the beginning.
void Light::prepare_files() {
  for (Fd* file : {&out_, &err_}) {
    if (*file) continue;
    file->reset(::open(spool_.attempts().c_str(), O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600));
    if (*file) continue;
    const fs::path output = spool_.attempt(attempt_) / "output";
    make_private(output.parent_path());
    make_private(output);
    *file = open_file(output / (file == &out_ ? "rank-00000.out" : "rank-00000.err"),
                      O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
    named_ = true;
  }
}

void Light::stop() {
  stopped_ = true;
  (void)!::send(socket_.get(), &detail::stop_word, 1, MSG_NOSIGNAL);
}

std::optional<Done> Light::next() {
  detail::LightEnding word{};
  const auto got = ::recv(socket_.get(), &word, sizeof word, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  if (got != sizeof word) return keeper_died();
  keep_output();
  clean_work();
  return judge({word.code, word.signal});
}

Done Light::judge(const Ending& ending) const {
  Done done;
  done.exit_code = ending.exit_code();
  done.duration =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun_);
  if (ending.ok() && unkept_.empty()) return done;
  if (ending.ok()) {  // a full disk is nobody's fault, and what a task says may be all that it is for
    done.how = Done::How::lost;
    done.exit_code = 1;
    done.reason = "what it said could not be kept: " + unkept_;
    return done;
  }
  done.how = stopped_ ? Done::How::stopped : Done::How::failed;
  done.reason = launch::FailedRank{0, node_, ending, ""}.sentence();
  return done;
}

Done Light::keeper_died() {
  socket_.reset();
  Done done;
  done.how = Done::How::lost;
  done.exit_code = 1;
  done.reason = "the process that watched it was killed";
  return done;
}

void Light::keep_output() {
  const bool said = about(out_.get()).st_size > 0 || about(err_.get()).st_size > 0;
  if (said) show_output();
  if (!said && !named_) return;  // as good as new
  out_.reset();
  err_.reset();
}

void Light::show_output() {
  if (named_ || !out_) return;
  try {
    name_output();
    named_ = true;
    unkept_.clear();
  } catch (const Error& error) {
    unkept_ = error.what();
  }
}

void Light::name_output() {
  const fs::path directory = spool_.attempt(attempt_);
  make_private(directory);
  make_private(directory / "output");
  for (const auto& [file, name] : {std::pair{&out_, "rank-00000.out"}, {&err_, "rank-00000.err"}}) {
    if (about(file->get()).st_nlink > 0) continue;  // when it was tried before
    const auto target = directory / "output" / name;
    const auto source = fmt::format("/proc/self/fd/{}", file->get());
    if (::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, target.c_str(), AT_SYMLINK_FOLLOW) != 0)
      throw Error::from_errno(errno, "cannot make {}", target.string());
  }
}

void Light::make_work() {
  remove_tree(work_);
  if (::mkdir(work_.c_str(), 0700) != 0) throw Error::from_errno(errno, "cannot make {}", work_.string());
}

// A task may not find what the one before it left; most leave nothing.
void Light::clean_work() {
  std::error_code problem;
  if (fs::is_empty(work_, problem) && !problem) return;
  make_work();
}

}  // namespace longship::pilot
