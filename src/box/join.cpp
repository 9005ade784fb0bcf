// SPDX-License-Identifier: Apache-2.0
#include "join.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "small_file.h"

namespace longship::box {
namespace {

// The user's own places: the session's, where there is one, else one in /tmp.
struct Where {
  std::string above, name;
};

Where meeting_place() {
  const char* session = std::getenv("XDG_RUNTIME_DIR");
  struct stat about {};
  if (session != nullptr && *session == '/' && ::stat(session, &about) == 0 && S_ISDIR(about.st_mode) &&
      about.st_uid == ::geteuid() && (about.st_mode & 077) == 0)
    return {session, "longship-boxes"};
  return {"/tmp", fmt::format("longship-boxes-{}", ::geteuid())};
}

constexpr const char* keeper_name = "longship-box";

void check_name(const std::string& name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == '@';
  };
  if (name.empty() || name.size() > 80 || name[0] == '.' || !std::all_of(name.begin(), name.end(), allowed))
    throw Error(Failure::usage,
                "\"{}\" cannot be the name of a box to join: letters, digits, '.', '_', '-' and '@'",
                printable(name));
}

sockaddr_un address_of(int directory, const std::string& name) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  // Through the descriptor: a long directory name would not fit.
  const auto path = fmt::format("/proc/self/fd/{}/{}", directory, name);
  std::memcpy(at.sun_path, path.c_str(), path.size() + 1);
  return at;
}

ucred peer_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) peer.uid = static_cast<uid_t>(-1);
  return peer;
}

// What a member is given: the namespaces, the root within them, and how the image is mounted.
constexpr std::size_t gifts = 3;
using Gifts = std::array<Fd, gifts>;  // user, mount, root

msghdr message_for(iovec& data, void* control, std::size_t size) {
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = size;
  return message;
}

void send_gifts(int socket, const Gifts& given, Way way) {
  char byte = static_cast<char>(way);
  iovec data = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(gifts * sizeof(int))] = {};
  msghdr message = message_for(data, control, sizeof control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(gifts * sizeof(int));
  for (std::size_t i = 0; i < gifts; ++i) {
    const int fd = given[i].get();
    std::memcpy(CMSG_DATA(header) + i * sizeof(int), &fd, sizeof fd);
  }
  ::sendmsg(socket, &message, MSG_NOSIGNAL);
}

Gifts receive_gifts(int socket, Way& way) {
  char byte = 0;
  iovec data = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(gifts * sizeof(int))] = {};
  msghdr message = message_for(data, control, sizeof control);
  ssize_t size = 0;
  do size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (size < 0 && errno == EINTR);
  const cmsghdr* header = size == 1 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS ||
      header->cmsg_len != CMSG_LEN(gifts * sizeof(int)))
    throw Error("the keeper of the box is gone: start again");
  Gifts received;
  for (std::size_t i = 0; i < gifts; ++i) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
    received[i].reset(fd);
  }
  way = static_cast<Way>(byte);
  return received;
}

Fd open_in_box(const char* path, int flags) {
  return Fd(::open(path, flags | O_CLOEXEC));
}

// A process that is inside; watched without being its parent.
struct Member {
  pid_t pid = 0;
  Fd handle;  // none before Linux 5.3: then asked for again and again

  explicit Member(pid_t number)
      : pid(number), handle(static_cast<int>(::syscall(SYS_pidfd_open, number, 0))) {}
  [[nodiscard]] bool gone() const {
    if (!handle) return ::kill(pid, 0) != 0 && errno == ESRCH;
    pollfd polled{handle.get(), POLLIN, 0};
    return ::poll(&polled, 1, 0) > 0;
  }
};

void wait_for_news(int listening, const std::vector<Member>& members, bool impatient) {
  std::vector<pollfd> polled = {{listening, POLLIN, 0}};
  for (const auto& member : members) {
    if (member.handle)
      polled.push_back({member.handle.get(), POLLIN, 0});
    else
      impatient = true;
  }
  ::poll(polled.data(), polled.size(), impatient ? 100 : -1);
}

bool someone_waits(int listening) {
  pollfd polled{listening, POLLIN, 0};
  return ::poll(&polled, 1, 0) > 0;
}

}  // namespace

// Its name, which anybody could take, and that it is this very program.
bool is_keeper(pid_t process) {
  const auto about = fmt::format("/proc/{}/", process);
  if (trim(read_small_file(about + "comm").value_or("")) != keeper_name) return false;
  struct stat theirs {
  }, ours{};
  return ::stat((about + "exe").c_str(), &theirs) == 0 && ::stat("/proc/self/exe", &ours) == 0 &&
         theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev;
}

Meeting::Meeting(const std::string& name) : name_(name) {
  check_name(name);
  const auto where = meeting_place();
  directory_name_ = where.name;
  above_.reset(::open(where.above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!above_) throw Error::from_errno(errno, "cannot open {}, where boxes are joined", where.above);
  while (!take_lock()) {
  }
  find_or_listen();
}

Meeting::~Meeting() {
  if (listening_ && !opened_) ::unlinkat(directory_.get(), name_.c_str(), 0);  // it did not come to a box
}

// False: the last keeper just took everything away, so that it has to be made anew.
bool Meeting::take_lock() {
  ::mkdirat(above_.get(), directory_name_.c_str(), 0700);
  directory_.reset(
      ::openat(above_.get(), directory_name_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory_ && errno == ENOENT) return false;
  struct stat about {};
  if (!directory_ || ::fstat(directory_.get(), &about) != 0)
    throw Error::from_errno(errno, "cannot open {}, where boxes are joined", directory_name_);
  if (about.st_uid != ::geteuid() || (about.st_mode & 077) != 0)
    throw Error(Failure::impossible,
                "{}, where boxes are joined, is somebody else's: remove it, or set XDG_RUNTIME_DIR",
                directory_name_);
  const auto name = name_ + ".lock";
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
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const auto at = address_of(directory_.get(), name_);
  const auto* generic = reinterpret_cast<const sockaddr*>(&at);
  if (!socket) throw Error::from_errno(errno, "cannot make a socket");
  if (::connect(socket.get(), generic, sizeof at) == 0) {
    if (peer_of(socket.get()).uid != ::geteuid())
      throw Error(Failure::impossible, "the box {} is kept by another user", name_);
    connection_ = std::move(socket);
    return;
  }
  remove_abandoned();
  ::unlinkat(directory_.get(), name_.c_str(), 0);  // of a keeper that was killed
  if (::bind(socket.get(), generic, sizeof at) != 0 || ::listen(socket.get(), SOMAXCONN) != 0)
    throw Error::from_errno(errno, "cannot wait for others in the box {}", name_);
  listening_ = std::move(socket);
}

// What keepers left that were killed: a batch system that ends a job kills all it finds.
void Meeting::remove_abandoned() const {
  constexpr std::string_view ending = ".lock";
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(::dup(directory_.get())), ::closedir);
  if (!listing) return;
  ::rewinddir(listing.get());
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string lock_name = entry->d_name;
    if (!lock_name.ends_with(ending) || lock_name == name_ + std::string(ending)) continue;
    const auto name = lock_name.substr(0, lock_name.size() - ending.size());
    const Fd lock(::openat(directory_.get(), lock_name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
    const Fd probe(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const auto at = address_of(directory_.get(), name);
    if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 ||
        (errno != ECONNREFUSED && errno != ENOENT))
      continue;
    ::unlinkat(directory_.get(), name.c_str(), 0);
    ::unlinkat(directory_.get(), lock_name.c_str(), 0);
  }
}

Way Meeting::join() {
  Way way = Way::directory;
  const Gifts given = receive_gifts(connection_.get(), way);
  const auto& [user, mounts, root] = given;
  // Root made the mounts before it stepped down into the user namespace, anybody else after.
  const bool mounted = ::geteuid() == 0 && ::setns(mounts.get(), CLONE_NEWNS) == 0;
  const bool mapped = ::setns(user.get(), CLONE_NEWUSER) == 0;
  if (!mapped && !mounted)
    throw Error::from_errno(errno, "this machine does not let a process join the box {}", name_);
  if (!mounted && ::setns(mounts.get(), CLONE_NEWNS) != 0)
    throw Error::from_errno(errno, "cannot join the mounts of the box {}", name_);
  if (::fchdir(root.get()) != 0 || ::chroot(".") != 0)
    throw Error::from_errno(errno, "cannot find the root of the box {}", name_);
  lock_.reset();
  return way;
}

void Meeting::open(Way way) {
  const pid_t first = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw Error::from_errno(errno, "cannot start the keeper of the box {}", name_);
  if (child == 0) {
    const pid_t keeper = ::fork();  // twice, so that it is not the command's child
    if (keeper != 0) ::_exit(keeper > 0 ? 0 : 1);
    keep(first, way);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) throw Error("cannot start the keeper of the box {}", name_);
  opened_ = true;
  listening_.reset();
  lock_.reset();
}

void Meeting::keep(pid_t first, Way way) {
  ::setsid();
  ::prctl(PR_SET_NAME, keeper_name);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_IGN);
  const Gifts given = {open_in_box("/proc/self/ns/user", O_RDONLY),
                       open_in_box("/proc/self/ns/mnt", O_RDONLY), open_in_box("/", O_PATH | O_DIRECTORY)};
  keep_only(
      {above_.get(), directory_.get(), listening_.get(), given[0].get(), given[1].get(), given[2].get()});
  std::vector<Member> members;
  members.emplace_back(first);
  const auto lock_name = name_ + ".lock";
  for (bool impatient = false;;) {
    wait_for_news(listening_.get(), members, impatient);
    while (someone_waits(listening_.get())) {
      const Fd peer(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      const ucred who = peer_of(peer.get());
      if (!peer || who.uid != ::geteuid()) continue;
      members.emplace_back(who.pid);
      send_gifts(peer.get(), given, way);
    }
    std::erase_if(members, [](const Member& member) { return member.gone(); });
    impatient = members.empty();
    if (!impatient) continue;
    // Whoever has the lock may be about to come in.
    const Fd lock(::openat(directory_.get(), lock_name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
    if (someone_waits(listening_.get())) continue;
    ::unlinkat(directory_.get(), name_.c_str(), 0);
    ::unlinkat(directory_.get(), lock_name.c_str(), 0);
    ::unlinkat(above_.get(), directory_name_.c_str(), AT_REMOVEDIR);  // if it was the last box
    ::_exit(0);
  }
}

}  // namespace longship::box
