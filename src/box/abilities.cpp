// SPDX-License-Identifier: Apache-2.0
#include "abilities.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "base/error.h"
#include "base/fd.h"
#include "box.h"
#include "fake_root.h"
#include "fuse_device.h"
#include "mounts.h"
#include "namespaces.h"

namespace longship::box {
namespace {

// The Error that `work` ends with in a child; nothing if it went well.
std::string tried(const std::function<void()>& work) {
  Pipe pipe = make_pipe();
  const pid_t child = ::fork();
  if (child < 0) return Error::from_errno(errno, "cannot fork").what();
  if (child == 0) {
    std::string problem;
    try {
      work();
    } catch (const std::exception& error) {
      problem = error.what();
    }
    ::_exit(::write(pipe.write.get(), problem.data(), problem.size()) >= 0 ? 0 : 1);
  }
  pipe.write.reset();
  std::string problem;
  char part[512];
  for (ssize_t size = 0; (size = ::read(pipe.read.get(), part, sizeof part)) > 0;)
    problem.append(part, static_cast<std::size_t>(size));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0 && problem.empty()) problem = "the attempt was killed";
  return problem;
}

Ability result(const char* name, std::string problem, const char* detail, std::string remedy) {
  const bool there = problem.empty();
  return {.name = name,
          .there = there,
          .detail = there ? detail : std::move(problem),
          .remedy = there ? "" : std::move(remedy)};
}

void make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0) throw Error::from_errno(errno, "cannot make {}", path);
}

void try_overlay() {
  enter_mount_namespace(false);
  mount_tmpfs("/tmp", "mode=0755");
  for (const char* directory : {"/tmp/lower", "/tmp/upper", "/tmp/work", "/tmp/root"})
    make_directory(directory);
  const char* options = "lowerdir=/tmp/lower,upperdir=/tmp/upper,workdir=/tmp/work,userxattr";
  if (::mount("longship", "/tmp/root", "overlay", MS_NODEV, options) != 0)
    throw Error::from_errno(errno, "the kernel refuses an overlay in a user namespace");
}

void try_fuse() {
  if (const std::string obstacle = why_no_fuse(); !obstacle.empty()) throw Error("{}", obstacle);
  enter_mount_namespace(false);
  const Fd device(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (!device) throw Error::from_errno(errno, "cannot open /dev/fuse");
  const auto options =
      fmt::format("fd={},rootmode=40755,user_id={},group_id={}", device.get(), ::geteuid(), ::getegid());
  if (::mount("longship", "/tmp", "fuse", MS_RDONLY | MS_NOSUID | MS_NODEV, options.c_str()) != 0)
    throw Error::from_errno(errno, "the kernel refuses a FUSE mount in a user namespace");
}

void try_kernel_squashfs() {
  if (::geteuid() != 0) throw Error("only root may");
  const Fd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!control) throw Error::from_errno(errno, "cannot open /dev/loop-control");
  const Fd context(static_cast<int>(::syscall(SYS_fsopen, "squashfs", 1)));
  if (!context) throw Error::from_errno(errno, "the kernel does not know SquashFS");
}

void try_seccomp() {
  pretend_to_be_root();
  if (::chown("/", 1, 1) != 0) throw Error::from_errno(errno, "the filter has no effect: chown");
}

void try_confined_open() {
  open_how how = {};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH;
  const Fd opened(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof how)));
  if (!opened) throw Error::from_errno(errno, "openat2");
}

}  // namespace

Ability user_namespaces() {
  int number = 0;
  const std::string problem = tried([&] {
    if (::unshare(CLONE_NEWUSER) != 0) throw Error::from_errno(errno, "unshare");
  });
  if (problem.find("No space") != std::string::npos) number = ENOSPC;
  return result("user namespaces", problem, "allowed", remedy_for(number));
}

Ability boxes() {
  const std::string problem = tried([] {
    Spec spec;
    spec.root = "/";
    spec.home = false;
    spec.working_directory = "/";
    enter(spec);
  });
  return result("boxes", problem, "a process was put into one", "see the lines below");
}

Ability overlay() {
  return result("overlay in them", tried(try_overlay), "allowed",
                "Linux 5.11 or newer; until then boxes are read-only and images cannot be built here");
}

Ability fuse() {
  return result(
      "FUSE", tried(try_fuse), "allowed",
      "ask the administrator for \"chmod 666 /dev/fuse\"; until then images are unpacked before use");
}

Ability kernel_squashfs() {
  return result("SquashFS by the kernel", tried(try_kernel_squashfs), "allowed", "");
}

Ability seccomp() {
  return result("seccomp filters", tried(try_seccomp), "allowed",
                "a kernel with CONFIG_SECCOMP_FILTER; without it package managers fail in image builds");
}

Ability confined_open() {
  return result("openat2", tried(try_confined_open), "there", "");
}

std::vector<Ability> abilities() {
  return {boxes(), user_namespaces(), overlay(), fuse(), kernel_squashfs(), seccomp(), confined_open()};
}

}  // namespace longship::box
