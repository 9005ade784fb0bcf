// SPDX-License-Identifier: Apache-2.0
// A process between this machine and a local pilot: it outlives whoever started it, and writes down how the
// pilot ended.
//
// Its place is a directory; two files in it are the whole protocol:
//   process   who runs it: made once, by link(), with all its content. Whoever makes it owns the pilot: a
//   second
//             supervisor that lost the race leaves, and a canceller that won it has prevented the start.
//   ended     how it ended: made by rename(). Missing, while the process of `process` is gone: it was killed.
//
// The supervisor is its own session. SIGTERM to it ends the pilot: SIGTERM to the pilot's group, SIGKILL
// after the grace; the same when the walltime is over. If the supervisor itself is killed, the kernel kills
// the pilot. What the pilot leaves behind goes with it.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"

namespace longship::batch {

struct Orders {
  std::filesystem::path place;
  std::vector<std::string> command;
  Environment environment;           // the whole of it
  std::filesystem::path directory;   // where the command starts
  std::filesystem::path output;      // appended to
  std::chrono::seconds walltime{0};  // 0: no limit
  std::chrono::milliseconds grace{30'000};
  std::vector<int> cores;  // that it may use; empty: all
  std::vector<int> gpus;   // that it was given, to be remembered
};

// Returns when `process` is there: made by the new supervisor, or by another before. An Error if there is
// none and none could be made.
void start_supervisor(const Orders& orders);

// What the file `process` says.
struct Claim {
  pid_t pid = 0;  // 0: cancelled before it started
  std::uint64_t start_time = 0;
  std::string boot, host;
  std::vector<int> cores, gpus;
};
[[nodiscard]] Claim parse_claim(std::string_view text);
// Prevents a start: true if nobody had claimed the place yet.
[[nodiscard]] bool claim_as_cancelled(const std::filesystem::path& place);

enum class Life {
  alive,
  gone,
  elsewhere,  // on another host: nothing can be said from here
};
[[nodiscard]] Life life_of(const Claim& claim);
// To the supervisor, if it is still the same process.
void signal_supervisor(const Claim& claim, int number);

// What the file `ended` says.
struct End {
  enum class Kind { exited, killed, not_started } kind = Kind::exited;
  int number = 0;  // exit code, signal, errno
  enum class Asked { nobody, cancel, walltime } asked = Asked::nobody;
};
[[nodiscard]] End parse_end(std::string_view text);

}  // namespace longship::batch
