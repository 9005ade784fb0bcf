// SPDX-License-Identifier: Apache-2.0
#include "mounts.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"

namespace longship::box {
namespace {

void enter_directory(const std::string& path) {
  if (::chdir(path.c_str()) != 0) throw Error::from_errno(errno, "cannot enter {}", path);
}

// Not every C library has a function for it.
long move_mount_to(int mount, int directory, const char* place) {
  return ::syscall(SYS_move_mount, mount, "", directory, place, MOVE_MOUNT_F_EMPTY_PATH);
}

// Diskless nodes run on their initial ramdisk, from which pivot_root refuses to move (EINVAL). There the
// working directory's mount is put over the old root, which stays, unreachable, below it.
void cover_root() {
  if (::mount(".", "/", nullptr, MS_MOVE, nullptr) != 0 || ::chroot(".") != 0)
    throw Error::from_errno(errno, "cannot cover the old root");
}

}  // namespace

std::string path_of(int fd, const std::string& proc) {
  return proc + "/self/fd/" + std::to_string(fd);
}

void mount_tmpfs(const std::string& at, const char* options) {
  if (::mount("tmpfs", at.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options) != 0)
    throw Error::from_errno(errno, "cannot mount a tmpfs at {}", at);
}

void bind_mount(const std::string& from, const std::string& to) {
  if (::mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    throw Error::from_errno(errno, "cannot bind it");
}

void attach(int mount, const std::string& place) {
  if (move_mount_to(mount, AT_FDCWD, place.c_str()) != 0)
    throw Error::from_errno(errno, "cannot attach the image's mount");
}

// Of no mount to no place: it fails in any case, and how tells.
bool can_attach() {
  move_mount_to(-1, -1, "");
  return errno != ENOSYS && errno != EPERM;
}

void make_read_only(const std::string& at) {
  mount_attr change = {};
  change.attr_set = MOUNT_ATTR_RDONLY;
  if (::syscall(SYS_mount_setattr, AT_FDCWD, at.c_str(), AT_RECURSIVE, &change, sizeof change) == 0) return;
  // ENOSYS from an old kernel; EPERM where a filter does not know the call.
  detail::make_read_only_by_remount(at);
}

void detail::make_read_only_by_remount(const std::string& at) {
  struct statvfs now = {};
  if (::statvfs(at.c_str(), &now) != 0) throw Error::from_errno(errno, "cannot look at the mount {}", at);
  unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY;
  if (now.f_flag & ST_NOSUID) flags |= MS_NOSUID;
  if (now.f_flag & ST_NODEV) flags |= MS_NODEV;
  if (now.f_flag & ST_NOEXEC) flags |= MS_NOEXEC;
  if (now.f_flag & ST_NOATIME) flags |= MS_NOATIME;
  if (now.f_flag & ST_NODIRATIME) flags |= MS_NODIRATIME;
  if (now.f_flag & ST_RELATIME) flags |= MS_RELATIME;
  if (::mount(nullptr, at.c_str(), nullptr, flags, nullptr) != 0)
    throw Error::from_errno(errno, "cannot make {} read-only", at);
}

void exchange_root(const std::string& root, const std::string& old) {
  enter_directory(root);
  if (::syscall(SYS_pivot_root, ".", old.c_str()) != 0) {
    if (errno != EINVAL) throw Error::from_errno(errno, "cannot make {} the root", root);
    bind_mount("/", old);
    cover_root();
  }
  enter_directory("/");
}

void replace_root(const std::string& root) {
  enter_directory(root);
  // Old and new root may be the same place: the old one then lies on top of the new and can be taken off.
  if (::syscall(SYS_pivot_root, ".", ".") == 0) {
    if (::umount2(".", MNT_DETACH) != 0) throw Error::from_errno(errno, "cannot let go of the old root");
  } else {
    if (errno != EINVAL) throw Error::from_errno(errno, "cannot make {} the root", root);
    cover_root();
  }
  enter_directory("/");
}

}  // namespace longship::box
