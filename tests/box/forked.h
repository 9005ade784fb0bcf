// SPDX-License-Identifier: Apache-2.0
// Entering a box cannot be undone, so each test does it in a child and looks at what the child says.
#pragma once
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "base/file.h"

namespace longship::box {

struct Said {
  int code = 0;      // as a shell would say it
  std::string text;  // all that went to stdout and stderr
};

// Runs `work` in a child with its output caught; an Error is printed and becomes the exit code.
inline Said in_child(const std::function<void()>& work) {
  Pipe pipe = make_pipe();
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipe.write.get(), STDOUT_FILENO);
    ::dup2(pipe.write.get(), STDERR_FILENO);
    int code = 0;
    try {
      work();
    } catch (const Error& error) {
      write_all(STDOUT_FILENO, std::string(error.what()) + "\n");
      code = static_cast<int>(error.failure());
    } catch (const std::exception& error) {
      write_all(STDOUT_FILENO, error.what());
      code = 99;
    }
    ::_exit(code);
  }
  pipe.write.reset();
  Said said;
  char part[4096];
  for (ssize_t size = 0; (size = ::read(pipe.read.get(), part, sizeof part)) > 0;)
    said.text.append(part, static_cast<std::size_t>(size));
  int status = 0;
  ::waitpid(child, &status, 0);
  said.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return said;
}

constexpr unsigned ordinary_id = 12345;

// Root tests as root, and as somebody who is not.
inline void become_ordinary() {
  if (::geteuid() != 0) return;
  if (::setgid(ordinary_id) != 0 || ::setuid(ordinary_id) != 0) throw Error::from_errno(errno, "setuid");
  ::prctl(PR_SET_DUMPABLE, 1);  // its own /proc files stay its own, as after an exec
}

inline std::string read(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

}  // namespace longship::box
