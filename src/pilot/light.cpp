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
#include "box/box.h"
#include "launch/environment.h"
#include "launch/node.h"
#include "light_keeper.h"

namespace longship::pilot {
namespace fs = std::filesystem;
namespace {

constexpr const char* attempts_in_the_box = "/run/longship/attempts";

box::Spec box_spec(const Berth& berth, const fs::path& work, const Ground& ground) {
  box::Spec spec;
  spec.root = ground.root;
  spec.unpacked = ground.unpacked;
  spec.binds = {{work, work_in_the_box},
                {berth.spool.attempts(), attempts_in_the_box},
                {berth.installation.in_the_box, "/opt/longship", true}};
  spec.working_directory = work_in_the_box;
  return spec;
}

detail::LightPlace place_of(const Berth& berth, const fs::path& work, const Start& first) {
  const auto host = current_environment();
  detail::LightPlace place;
  if (first.assignment.image.empty()) {
    place.directory = work;
    place.environment = host;
    place.environment["PYTHONPATH"] =
        launch::with_python_path(berth.installation.in_the_box / "python", host);
  } else {
    const auto ground = ground_of(berth, first);
    place.box = box_spec(berth, work, ground);
    place.directory = work_in_the_box;
    place.environment = box::boxed_environment(ground.image->config.environment, host, {});
  }
  // An outer launcher's rendezvous is not ours.
  for (const auto* name : {"LONGSHIP_RENDEZVOUS", "LONGSHIP_RENDEZVOUS_FD", "LONGSHIP_CONTROL"})
    place.environment.erase(name);
  return place;
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

bool is_light(const Berth& berth, const Start& start) {
  const auto& job = *start.job;
  const auto& assignment = start.assignment;
  return job.launch == job::Launch::single && job.needs.nodes == 1 &&
         job.image.empty() == assignment.image.empty() &&
         (job.image.empty() || berth.engine == launch::Engine::own) && assignment.code.digest.empty() &&
         job.data.empty() && job.outputs.keep.empty() && !job.checkpoint && job.needs.gpus_per_rank == 0 &&
         !job.command.empty() && size_of(job) < detail::largest_packet;
}

Light::Light(const Berth& berth, fs::path work, std::string node, const Start& first)
    : spool_(berth.spool),
      work_(std::move(work)),
      node_(std::move(node)),
      image_(first.assignment.image),
      attempts_(image_.empty() ? spool_.attempts().string() : attempts_in_the_box) {
  const auto place = place_of(berth, work_, first);
  remove_tree(work_);
  if (::mkdir(work_.c_str(), 0700) != 0) throw Error::from_errno(errno, "cannot make {}", work_.string());
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
    detail::keep_light(socket, place);
  }
}

Light::~Light() {
  socket_.reset();  // the keeper kills what runs, and ends
  while (keeper_ > 0 && ::waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) {
  }
  remove_tree(work_);
}

bool Light::takes(const Start& start) const {
  return start.assignment.image == image_;
}

std::vector<std::string> Light::variables_of(const Start& start) const {
  const auto& job = *start.job;
  Environment variables = job.environment;
  if (job.needs.threads_per_rank > 0)
    variables.emplace("OMP_NUM_THREADS", std::to_string(job.needs.threads_per_rank));
  for (const auto* name : {"RANK", "LOCAL_RANK"}) variables[name] = "0";
  for (const auto* name : {"WORLD_SIZE", "LOCAL_WORLD_SIZE"}) variables[name] = "1";
  variables["LONGSHIP_NODE"] = node_;
  variables["LONGSHIP_JOB"] = attempt_.job;
  variables["LONGSHIP_ATTEMPT"] = std::to_string(attempt_.number);
  variables["LONGSHIP_RECORD"] = fmt::format("{}/{}/record", attempts_, attempt_.text());
  std::vector<std::string> assignments;
  for (const auto& [name, value] : variables) assignments.push_back(name + "=" + value);
  return assignments;
}

void Light::start(const Start& start) {
  attempt_ = start.assignment.attempt;
  begun_ = std::chrono::steady_clock::now();
  named_ = stopped_ = false;
  unkept_.clear();
  follower_.emplace(record::log_path(spool_.attempt(attempt_) / "record", 0));
  prepare_files();
  send_task(socket_.get(), detail::pack({start.job->command, variables_of(start)}), out_.get(), err_.get());
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
  if (word.problem[0] != 0) return Done{.how = Done::How::lost, .exit_code = 1, .reason = word.problem};
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

// A task may not find what the one before it left; most leave nothing. The directory itself stays: it is in
// the box.
void Light::clean_work() {
  std::error_code problem;
  for (fs::directory_iterator at(work_, problem), end; !problem && at != end; at.increment(problem))
    remove_tree(at->path());
}

std::optional<Progress> Light::progress() {
  const auto metrics = follower_ ? follower_->poll() : std::nullopt;
  if (!metrics) return {};
  return Progress{{metrics->step, metrics->steps, metrics->values}};
}

}  // namespace longship::pilot
