// SPDX-License-Identifier: Apache-2.0
#include "own_program.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "base/fd.h"
#include "base/text.h"

namespace longship::box {
namespace {

constexpr const char* own = "/proc/self/exe";
constexpr int most_interpreters = 5;  // as the kernel

bool is_own_file(const std::string& path) {
  struct stat ours = {}, theirs = {};
  return ::stat(own, &ours) == 0 && ::stat(path.c_str(), &theirs) == 0 && ours.st_dev == theirs.st_dev &&
         ours.st_ino == theirs.st_ino;
}

// Whether the file is found without the links of /proc, which lead past all mounts.
bool has_a_name(const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_NO_MAGICLINKS;
  const Fd found(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
  if (found) return true;
  if (errno != ENOSYS && errno != EPERM) return false;
  // An older kernel: at least the box has it where the host has it.
  char name[PATH_MAX] = {};
  return ::readlink(own, name, sizeof name - 1) > 0 && is_own_file(name);
}

// What "#! /bin/sh -e" names; empty for what is no script.
std::string interpreter_of(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  char start[256];
  const ssize_t size = file ? ::read(file.get(), start, sizeof start) : 0;
  std::string_view line(start, size > 0 ? static_cast<std::size_t>(size) : 0);
  if (!line.starts_with("#!")) return {};
  line = trim(line.substr(2, line.find('\n') - 2));
  return std::string(line.substr(0, line.find_first_of(" \t")));
}

}  // namespace

bool leads_to_own_program(const std::string& path) {
  std::string program = path;
  for (int i = 0; i <= most_interpreters && !program.empty(); ++i) {
    if (is_own_file(program) && !has_a_name(program)) return true;
    program = interpreter_of(program);
  }
  return false;
}

}  // namespace longship::box
