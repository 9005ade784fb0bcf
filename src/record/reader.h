// SPDX-License-Identifier: Apache-2.0
// One process's log read back, whole or while it is being written. Bytes that make no sense are an Error,
// never more: a log comes out of a job's directory, where anyone may have written.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "activity.h"
#include "base/record_log.h"

namespace longship::record {

// All times are nanoseconds of the process's own steady clock.
struct Span {
  Activity activity{};
  std::uint32_t lane = 0;  // which thread: 0 opened the log
  std::uint32_t name = 0;  // index into Log::names
  std::int64_t begin = 0, end = 0;
};

struct Collective {
  std::uint64_t sequence = 0;
  std::uint64_t bytes = 0;
  std::uint32_t name = 0;
  std::int64_t arrived = 0, begin = 0, end = 0;
};

struct Metrics {
  std::uint64_t step = 0, steps = 0;
  std::uint32_t lane = 0;
  std::int64_t at = 0;
  std::vector<std::pair<std::uint32_t, double>> values;
};

struct Log {
  bool begun = false;  // a process introduced itself; nothing else here means anything before
  int rank = 0, size = 1, local_rank = 0;
  std::string node;
  std::int64_t time_of_day = 0;   // ns since 1970, when the process began
  std::int64_t start = 0;         // the same moment on the steady clock
  std::int64_t clock_offset = 0;  // rank 0's clock minus this one's
  std::vector<std::string> names;
  std::vector<Span> spans;
  std::vector<Collective> collectives;
  std::vector<Metrics> metrics;
  std::uint64_t lost = 0;     // entries the writer had to drop
  std::uint64_t earlier = 0;  // processes that wrote to the same log before; what they did is not here
  std::string problem;        // why the log ends early, if it does; what is before is good
};

// DIRECTORY/rank-00003.rec
[[nodiscard]] std::filesystem::path log_path(const std::filesystem::path& directory, int rank);

// The last process that wrote to the log. A torn or damaged end is told in Log::problem; an Error if there is
// nothing.
[[nodiscard]] Log read_log(const std::filesystem::path& path);

// Appends a block's entries to the log; an Error for bytes that are none. What was before the error stays.
void decode(std::string_view block, Log& log);

// What a script reported last, with its own words.
struct LiveMetrics {
  std::uint64_t step = 0, steps = 0;
  std::vector<std::pair<std::string, double>> values;
};

// Follows a log that is being written, for the live line: poll() as often as it is to be drawn.
class Follower {
 public:
  // The log need not be there yet.
  explicit Follower(const std::filesystem::path& path) : reader_(path) {}

  // The latest metrics if any came since the last call. A damaged log just brings no more.
  [[nodiscard]] std::optional<LiveMetrics> poll();

 private:
  RecordLogReader reader_;
  Log log_;
  bool damaged_ = false;
};

}  // namespace longship::record
