// SPDX-License-Identifier: Apache-2.0
#include "namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "base/say.h"
#include "base/text.h"
#include "small_file.h"

namespace longship::box {
namespace {

// The kernel takes an id map in one write or not at all.
bool write_whole(const std::string& path, const std::string& text) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

void write_map(const char* path, const std::string& text) {
  if (!write_whole(path, text)) {
    const int number = errno;
    throw Error(Failure::impossible, "this machine does not let a user map its own id ({}: {}): {}", path,
                Error::from_errno(number, "write").what(), remedy_for(number));
  }
}

void map_one(uid_t inner_user, gid_t inner_group, uid_t user, gid_t group) {
  write_map("/proc/self/setgroups", "deny");
  write_map("/proc/self/uid_map", fmt::format("{} {} 1", inner_user, user));
  write_map("/proc/self/gid_map", fmt::format("{} {} 1", inner_group, group));
}

// "0 100000 65536" says how this namespace sees its parent's ids; a child that sees all of ours says "0 0
// 65536".
std::string each_to_itself(const std::string& map) {
  std::string lines;
  for (const auto line : split(map, '\n')) {
    char* end = nullptr;
    const std::string text(line);
    const auto first = std::strtoul(text.c_str(), &end, 10);
    std::strtoul(end, &end, 10);
    const auto count = std::strtoul(end, &end, 10);
    if (count > 0) lines += fmt::format("{} {} {}\n", first, first, count);
  }
  return lines;
}

void keep_mounts_from_the_host() {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
    throw Error::from_errno(errno, "cannot separate this mount namespace from the host's");
}

}  // namespace

Power enter_mount_namespace(bool fake_root) {
  ::prctl(PR_SET_DUMPABLE, 1);  // one that is in a box already has to write its own id map again
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (user == 0 && ::unshare(CLONE_NEWNS) == 0) {
    keep_mounts_from_the_host();
    return Power::root;
  }
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) {
    const int number = errno;
    throw Error(Failure::impossible, "this machine does not let users make user namespaces ({}): {}",
                Error::from_errno(number, "unshare").what(), remedy_for(number));
  }
  if (fake_root)
    map_one(0, 0, user, group);
  else
    map_one(user, group, user, group);
  return Power::ordinary;
}

// More than one id can only be mapped by a process that stays outside: a child, for a moment.
void step_down() {
  const std::string users = each_to_itself(read_small_file("/proc/self/uid_map").value_or(""));
  const std::string groups = each_to_itself(read_small_file("/proc/self/gid_map").value_or(""));
  Pipe ready = make_pipe();
  const std::string self = fmt::format("/proc/{}/", ::getpid());
  const pid_t child = ::fork();
  if (child < 0) throw Error::from_errno(errno, "cannot fork");
  if (child == 0) {
    ready.write.reset();
    char byte = 0;
    if (::read(ready.read.get(), &byte, 1) != 1) ::_exit(0);  // no namespace, nothing to map
    ::_exit(write_whole(self + "uid_map", users) && write_whole(self + "gid_map", groups) ? 0 : 1);
  }
  const bool inside = ::unshare(CLONE_NEWUSER) == 0;
  if (!inside)
    explain("root keeps its power over this machine: {}",
            Error::from_errno(errno, "no user namespace").what());
  if (inside && ::write(ready.write.get(), "", 1) != 1)
    throw Error::from_errno(errno, "cannot write to a pipe");
  ready.write.reset();
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) throw Error("cannot map the ids of a user namespace, although this is root");
}

void hide_from_the_box() {
  ::prctl(PR_SET_DUMPABLE, 0);
}

std::string remedy_for(int number, const std::filesystem::path& proc) {
  const auto setting = [&](const char* name) {
    return std::string(trim(read_small_file(proc / "sys" / name).value_or("")));
  };
  if (setting("user/max_user_namespaces") == "0")
    return "ask the administrator for \"sysctl -w user.max_user_namespaces=15000\"";
  if (setting("kernel/unprivileged_userns_clone") == "0")
    return "ask the administrator for \"sysctl -w kernel.unprivileged_userns_clone=1\"";
  if (setting("kernel/apparmor_restrict_unprivileged_userns") == "1")
    return "ask the administrator for \"sysctl -w kernel.apparmor_restrict_unprivileged_userns=0\", or for "
           "an AppArmor "
           "profile that allows longship \"userns\"";
  if (number == ENOSPC)
    return "too many namespaces exist: ask the administrator for a larger user.max_user_namespaces";
  if (number == EUSERS) return "namespaces are nested too deeply: start it further out";
  if (number == EINVAL)
    return "the calling process has several threads, or the kernel was built without user namespaces";
  if (read_small_file(proc / "self" / "status").value_or("").find("\nSeccomp:\t2") != std::string::npos)
    return "a seccomp filter forbids it: if this is a container, start it with \"--security-opt "
           "seccomp=unconfined\"";
  return "ask the administrator to allow unprivileged user namespaces";
}

}  // namespace longship::box
