// SPDX-License-Identifier: Apache-2.0
#include "image_keeper.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/fd.h"
#include "fuse_operations.h"
#include "fuse_server.h"
#include "give_back.h"
#include "hand_over.h"
#include "head_start.h"
#include "keeper.h"
#include "kernel_squashfs.h"
#include "mounts.h"
#include "namespaces.h"
#include "shared_image.h"

namespace longship::box {
namespace {

constexpr const char* workshop = "/tmp";  // any directory that every host has
constexpr const char* place = "/image";   // in it

struct Mounted {
  Way way = Way::kernel;
  Fd fuse;  // the server's end, if it is FUSE's
  Fd root;  // the image's, to copy the mount by
};

Fd mount_fuse(const std::string& at) {
  // Opened here: the kernel wants the mount in the user namespace of whoever opened it.
  Fd fuse(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (!fuse) throw Error::from_errno(errno, "cannot open /dev/fuse");
  // Boxes of an ordinary user are in user namespaces beside this one: they are let in because the user is
  // the same, and would not be by allow_other. Root's are below its own, and others may be in them.
  const char* who = ::geteuid() == 0 ? ",allow_other" : "";
  const auto options = fmt::format("fd={},rootmode=40755,user_id={},group_id={},default_permissions{}",
                                   fuse.get(), ::geteuid(), ::getegid(), who);
  if (::mount("longship", at.c_str(), "fuse", MS_RDONLY | MS_NOSUID | MS_NODEV, options.c_str()) != 0)
    throw Error::from_errno(errno, "cannot mount through FUSE");
  return fuse;
}

Mounted mount_kernel(int image, const std::string& at) {
  const Fd mount = mount_by_kernel(image);
  attach(mount.get(), at);
  return {.way = Way::kernel, .fuse = {}, .root = {}};
}

// The kernel's own mount, or else FUSE's.
Mounted mount_image(int image, Ways ways, const std::string& at) {
  if (!ways.kernel) return {.way = Way::fuse, .fuse = mount_fuse(at), .root = {}};
  try {
    return mount_kernel(image, at);
  } catch (const Error&) {
    if (!ways.fuse) throw;
    return {.way = Way::fuse, .fuse = mount_fuse(at), .root = {}};
  }
}

Mounted mount_in_workshop(int image, const Identity& identity) {
  mount_tmpfs(workshop, "mode=0755");
  const std::string at = std::string(workshop) + place;
  if (::mkdir(at.c_str(), 0755) != 0) throw Error::from_errno(errno, "cannot make {}", at);
  Mounted mounted = mount_image(image, ways_of(identity), at);
  mounted.root.reset(::open(at.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!mounted.root) throw Error::from_errno(errno, "cannot open the image's mount");
  return mounted;
}

void give_mount(int peer, int root, Answer answer) {
  static const bool attachable = can_attach();  // not asked each time: somebody waits
  const Fd copy(attachable ? ::open_tree(root, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH) : -1);
  if (!copy)
    std::strncpy(answer.problem, Error::from_errno(errno, "the kernel cannot copy a mount").what(),
                 sizeof answer.problem - 1);
  const int descriptor = copy.get();
  hand_over(peer, std::as_bytes(std::span(&answer, 1)), {&descriptor, copy ? 1U : 0U});
}

// Answers the kernel's questions in threads of its own; `ended` closes with the mount.
std::thread serve(Fd fuse, int image, HeadStart& head_start, Fd ended) {
  return std::thread([fuse = std::move(fuse), image, &head_start, ended = std::move(ended)]() mutable {
    answer_requests(std::move(fuse), image, {::geteuid(), ::getegid()}, head_start);
    ended.reset();
  });
}

// Nothing of the host shall stay mounted because of the keeper. Where that does not work, it does no harm.
bool leave_host() {
  try {
    replace_root(workshop);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void tell_all(Meeting& meeting, Answer answer, const Error& error) {
  std::strncpy(answer.problem, error.what(), sizeof answer.problem - 1);
  const auto give = [&](int peer) { hand_over(peer, std::as_bytes(std::span(&answer, 1)), {}); };
  keep_open(meeting, {.give = give});
}

}  // namespace

void keep_image(Meeting& meeting, int image, const Identity& identity, std::chrono::milliseconds linger,
                const std::string& command) {
  const auto [above, directory, listening] = meeting.descriptors();
  keep_only({above, directory, listening, image});
  Answer answer = {.identity = identity, .way = Way::fuse, .keeper = ::getpid(), .problem = {}};
  try {
    enter_mount_namespace(false);
    use_little_memory();
    std::optional<HeadStart> head_start;  // from now on, because no process with threads may enter one
    if (!ways_of(identity).kernel) head_start.emplace(image, command);
    Mounted mounted = mount_in_workshop(image, identity);
    answer.way = mounted.way;
    Pipe ended = make_pipe();
    std::thread server;
    if (mounted.fuse) {
      if (!head_start) head_start.emplace(image, command);
      server = serve(std::move(mounted.fuse), image, *head_start, std::move(ended.write));
    }
    bool alone = false;
    const auto give = [&](int peer) { give_mount(peer, mounted.root.get(), answer); };
    const auto later = [&] {  // it takes time, and the first box waits
      alone = leave_host();
      if (mounted.way == Way::kernel) give_back_memory();
    };
    keep_open(meeting, {.give = give, .linger = linger, .stop = ended.read.get(), .later = later});
    mounted.root.reset();
    ::umount2((std::string(alone ? "" : workshop) + place).c_str(), MNT_DETACH);
    if (server.joinable()) server.join();  // from here on the boxes alone keep the mount
  } catch (const Error& error) {
    tell_all(meeting, answer, error);
  }
}

}  // namespace longship::box
