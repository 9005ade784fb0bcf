// SPDX-License-Identifier: Apache-2.0
#include "fuse_server.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "fuse_device.h"
#include "fuse_operations.h"
#include "give_back.h"
#include "hand_over.h"
#include "squashfs.h"

namespace longship::box {
namespace {

[[noreturn]] void serve(int socket, int image, const Owner& owner, const std::string& command) {
  ::setsid();
  ::prctl(PR_SET_NAME, "longship-fuse");
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_IGN);
  if (::chdir("/") != 0) ::_exit(1);
  keep_only({socket, image});  // "longship box … | cat" has to end
  use_little_memory();
  HeadStart head_start(image, command);
  std::byte ignored{};
  auto received = receive(socket, {&ignored, 1});
  ::close(socket);
  if (received.descriptors.size() == 1)
    answer_requests(std::move(received.descriptors[0]), image, owner, head_start);
  ::_exit(0);
}

}  // namespace

FuseServer::FuseServer(int image, const std::string& name, uid_t owner, gid_t group,
                       const std::string& command)
    : owner_(owner), group_(group) {
  { const SquashFs readable(image, name); }  // here, where an error still reaches someone
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error::from_errno(errno, "cannot make a socket pair for the FUSE server");
  socket_ = Fd(ends[0]);
  const Fd theirs(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) throw Error::from_errno(errno, "cannot start the FUSE server");
  if (child == 0) {
    const pid_t server = ::fork();  // twice, so that the server is not the command's child
    if (server != 0) ::_exit(server > 0 ? 0 : 1);
    serve(theirs.get(), image, {owner, group}, command);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) throw Error("cannot start the FUSE server");
}

void FuseServer::mount_at(const std::string& place, const std::string& device) {
  // Opened here and not by the server: the kernel wants the mount in the user namespace of whoever opened it.
  const Fd fuse(::open(device.c_str(), O_RDWR | O_CLOEXEC));
  if (!fuse) throw Error::from_errno(errno, "cannot open {}", fuse_device);
  const auto options =
      fmt::format("fd={},rootmode=40755,user_id={},group_id={},default_permissions,allow_other", fuse.get(),
                  owner_, group_);
  if (::mount("longship", place.c_str(), "fuse", MS_RDONLY | MS_NOSUID | MS_NODEV, options.c_str()) != 0)
    throw Error::from_errno(errno, "cannot mount through FUSE");
  // Only now: an unmounted one cannot be read from.
  const int descriptor = fuse.get();
  if (!hand_over(socket_.get(), std::as_bytes(std::span("", 1)), {&descriptor, 1}))
    throw Error::from_errno(errno, "the FUSE server is gone");
  socket_.reset();
}

}  // namespace longship::box
