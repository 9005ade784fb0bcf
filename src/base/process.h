// SPDX-License-Identifier: Apache-2.0
// Other programs: started from an argument vector, in a process group of their own, watched through a pidfd.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fd.h"

namespace longship {

using Environment = std::map<std::string, std::string>;
[[nodiscard]] Environment current_environment();

struct Command {
  std::vector<std::string> arguments;      // [0] is looked up in PATH
  std::optional<Environment> environment;  // the whole of it; inherited if not set
  std::filesystem::path directory;         // empty: inherited
  // Descriptors of the child; -1: /dev/null for input, inherited for the other two.
  int input = -1, output = -1, errors = -1;
  bool own_group = true;         // so that the whole of it can be signalled
  bool die_with_parent = false;  // killed if the thread that started it ends
};

// How a program ended: by itself with a code, or by a signal.
struct Ending {
  int code = 0;
  int signal = 0;
  [[nodiscard]] bool ok() const { return code == 0 && signal == 0; }
  [[nodiscard]] int exit_code() const {
    return signal != 0 ? 128 + signal : code;
  }                                            // as a shell would say it
  [[nodiscard]] std::string sentence() const;  // "exited with code 3", "was killed by SIGSEGV"
};

class Process {
 public:
  explicit Process(
      const Command& command);  // an Error also if exec failed: "cannot run X: No such file or directory"
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  ~Process();  // kills the group and reaps, if still running

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }  // readable once it ended; -1 before Linux 5.3
  void signal(int number);                                  // to its group; harmless after the end
  // Blocks, or until the timeout; nothing if it is still running then.
  [[nodiscard]] std::optional<Ending> wait(std::optional<std::chrono::milliseconds> timeout = {});

 private:
  pid_t pid_ = -1;
  Fd pidfd_;
  bool own_group_ = true;
  std::optional<Ending> ending_;
};

struct Outcome {
  Ending ending;
  std::string output, errors;
  bool timed_out = false;
};

struct RunOptions {
  std::string_view input = {};
  std::chrono::milliseconds timeout{std::chrono::minutes(1)};
  std::size_t output_limit = 64u << 20;  // of each stream; what is beyond is read and dropped
};

// Runs to the end with output captured; past the timeout the group gets SIGTERM, two seconds later SIGKILL.
[[nodiscard]] Outcome run(Command command, const RunOptions& options = {});

// The same when only success will do: its output; otherwise an Error with the last line it said.
[[nodiscard]] std::string output_of(Command command, const RunOptions& options = {});

// Where a program is, as exec would find it.
[[nodiscard]] std::optional<std::filesystem::path> find_program(std::string_view name);

}  // namespace longship
