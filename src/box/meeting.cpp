// SPDX-License-Identifier: Apache-2.0
#include "meeting.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace longship::box {
namespace {

constexpr std::string_view lock_ending = ".lock";

// Many are user 0 in a user namespace of their own; none of them may take the place of root, or of another.
std::string own_number() {
  constexpr ino_t initial = 0xEFFFFFFD;  // of the machine's own namespace, on every kernel
  struct stat space {};
  if (::geteuid() == 0 && ::stat("/proc/self/ns/user", &space) == 0 && space.st_ino != initial)
    return fmt::format("0-{}", space.st_ino);
  return std::to_string(::geteuid());
}

// The user's own places: the session's, where there is one, else one in memory that all may write to, as
// everybody may in /tmp; to make directory, lock and socket on a disk takes as long as half of a box.
struct Where {
  std::string above, name;
};

bool is_for_everybody(const char* directory) {
  constexpr mode_t all_may_write = 01777;
  struct stat about {};
  return ::stat(directory, &about) == 0 && S_ISDIR(about.st_mode) &&
         (about.st_mode & all_may_write) == all_may_write;
}

Where meeting_place() {
  const char* session = std::getenv("XDG_RUNTIME_DIR");
  struct stat about {};
  if (session != nullptr && *session == '/' && ::stat(session, &about) == 0 && S_ISDIR(about.st_mode) &&
      about.st_uid == ::geteuid() && (about.st_mode & 077) == 0)
    return {session, "longship-boxes"};
  return {is_for_everybody("/dev/shm") ? "/dev/shm" : "/tmp", "longship-boxes-" + own_number()};
}

// Through the descriptor: a long directory name would not fit.
std::string path_in(int directory) {
  return fmt::format("/proc/self/fd/{}/", directory);
}

sockaddr_un address_of(const std::string& directory, const std::string& name) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  const auto path = directory + name;
  std::memcpy(at.sun_path, path.c_str(), path.size() + 1);
  return at;
}

Fd make_socket() {
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) throw Error::from_errno(errno, "cannot make a socket");
  return socket;
}

bool connect_in(int directory, const std::string& name, int socket) {
  const auto at = address_of(path_in(directory), name);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) return false;
  if (peer_of(socket).uid == ::geteuid()) return true;
  throw Error(Failure::impossible, "the box {} is kept by another user", name);
}

void check_owner(int directory, const std::string& name) {
  struct stat about {};
  if (::fstat(directory, &about) != 0) throw Error::from_errno(errno, "cannot look at {}", name);
  if (about.st_uid != ::geteuid() || (about.st_mode & 077) != 0)
    throw Error(Failure::impossible,
                "{}, where boxes are joined, is somebody else's: remove it, or set XDG_RUNTIME_DIR", name);
}

}  // namespace

ucred peer_of(int socket) {
  ucred peer{.pid = 0, .uid = static_cast<uid_t>(-1), .gid = static_cast<gid_t>(-1)};
  socklen_t size = sizeof peer;
  ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size);
  return peer;
}

Fd connect_to_keeper(const std::string& name) {
  const auto where = meeting_place();
  const Fd directory(
      ::open((where.above + "/" + where.name).c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) return {};
  check_owner(directory.get(), where.name);
  Fd socket = make_socket();
  if (!connect_in(directory.get(), name, socket.get())) return {};
  return socket;
}

Meeting::Meeting(const std::string& name) : name_(name) {
  const auto where = meeting_place();
  directory_name_ = where.name;
  above_.reset(::open(where.above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!above_) throw Error::from_errno(errno, "cannot open {}, where boxes are joined", where.above);
  while (!take_lock()) {
  }
  find_or_listen();
}

Meeting::Meeting(std::string name, std::string directory_name, const std::array<int, 3>& descriptors)
    : name_(std::move(name)),
      above_(descriptors[0]),
      directory_(descriptors[1]),
      listening_(descriptors[2]),
      directory_name_(std::move(directory_name)),
      handed_over_(true) {}

Meeting::~Meeting() {
  if (listening_ && !handed_over_) remove();  // it did not come to it
}

// False: the last keeper just took everything away, so that it has to be made anew.
bool Meeting::take_lock() {
  ::mkdirat(above_.get(), directory_name_.c_str(), 0700);
  directory_.reset(
      ::openat(above_.get(), directory_name_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory_ && errno == ENOENT) return false;
  if (!directory_) throw Error::from_errno(errno, "cannot open {}, where boxes are joined", directory_name_);
  check_owner(directory_.get(), directory_name_);
  const auto name = name_ + std::string(lock_ending);
  lock_.reset(::openat(directory_.get(), name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock_ && errno == ENOENT) return false;
  while (lock_ && ::flock(lock_.get(), LOCK_EX) != 0)
    if (errno != EINTR) throw Error::from_errno(errno, "cannot lock {}", name);
  struct stat held {
  }, named{};
  if (!lock_ || ::fstat(lock_.get(), &held) != 0) throw Error::from_errno(errno, "cannot open {}", name);
  return ::fstatat(directory_.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         held.st_ino == named.st_ino;
}

void Meeting::find_or_listen() {
  Fd socket = make_socket();
  if (connect_in(directory_.get(), name_, socket.get())) {
    connection_ = std::move(socket);
    return;
  }
  remove_abandoned(path_in(directory_.get()));
  ::unlinkat(directory_.get(), name_.c_str(), 0);  // of a keeper that was killed
  const auto at = address_of(path_in(directory_.get()), name_);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0 || ::fcntl(socket.get(), F_SETFL, O_NONBLOCK) != 0)
    throw Error::from_errno(errno, "cannot wait for others in the box {}", name_);
  listening_ = std::move(socket);
}

// What keepers left that were killed: a batch system that ends a job kills all it finds.
void Meeting::remove_abandoned(const std::string& here) const {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(::dup(directory_.get())), ::closedir);
  if (!listing) return;
  ::rewinddir(listing.get());
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string lock_name = entry->d_name;
    if (!lock_name.ends_with(lock_ending) || lock_name == name_ + std::string(lock_ending)) continue;
    const auto name = lock_name.substr(0, lock_name.size() - lock_ending.size());
    const Fd lock(::openat(directory_.get(), lock_name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
    const Fd probe(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const auto at = address_of(here, name);
    if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 ||
        (errno != ECONNREFUSED && errno != ENOENT))
      continue;
    ::unlinkat(directory_.get(), name.c_str(), 0);
    ::unlinkat(directory_.get(), lock_name.c_str(), 0);
  }
}

void Meeting::was_handed_over() {
  handed_over_ = true;
  listening_.reset();
  lock_.reset();
}

bool Meeting::give_up() const {
  const auto lock_name = name_ + std::string(lock_ending);
  // Whoever has the lock may be about to come in.
  const Fd lock(::openat(directory_.get(), lock_name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return false;
  pollfd polled{listening_.get(), POLLIN, 0};
  if (::poll(&polled, 1, 0) > 0) return false;
  // A keeper may have no /proc to reach its neighbours by.
  if (::fchdir(directory_.get()) == 0) remove_abandoned("");
  (void)!::chdir("/");
  remove();
  return true;
}

// With the lock held: whoever waits for it finds that it has no name any more.
void Meeting::remove() const {
  ::unlinkat(directory_.get(), name_.c_str(), 0);
  ::unlinkat(directory_.get(), (name_ + std::string(lock_ending)).c_str(), 0);
  ::unlinkat(above_.get(), directory_name_.c_str(), AT_REMOVEDIR);  // if it was the last box
}

}  // namespace longship::box
