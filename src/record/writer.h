// SPDX-License-Identifier: Apache-2.0
// What this process did and when: one compact, append-only log per rank (docs/formats/record.md).
//
// Called from training processes, by any of their threads: nothing here throws, waits for another thread's
// I/O, starts a thread or writes to stdout. If the disk is full the log ends there, and the run goes on.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "activity.h"
#include "base/clock.h"

namespace longship::record {

struct Identity {
  int rank = 0, size = 1;
  int local_rank = 0;
  std::string_view node;  // the name of the machine
};

class Writer {
 public:
  // Writes to DIRECTORY/rank-00000.rec; null if it cannot be made, with the reason in `problem` if given. If
  // the log is there, from an earlier process, it is continued. The thread that opens is taken for the one
  // that trains.
  [[nodiscard]] static std::unique_ptr<Writer> open(const std::filesystem::path& directory,
                                                    const Identity& identity,
                                                    std::string* problem = nullptr) noexcept;
  virtual ~Writer() = default;  // flushes
  // Another process has this rank's log open for writing, as far as the file system knows: two would spoil
  // it.
  [[nodiscard]] static bool is_taken(const std::filesystem::path& directory, int rank) noexcept;

  // From begin to end the calling thread did `activity`. Names are few and repeat: each is stored once. Time
  // of the training thread that no span covers counts as compute: record what it was *blocked* in. A thread
  // that blocks in synchronize() records one span of communication: the report finds out from the collectives
  // which part of it was waiting for others. Nested spans are fine, the innermost counts.
  virtual void span(Activity activity, std::string_view name, Instant begin, Instant end) noexcept = 0;

  // One collective operation. `sequence` counts them, equal on all ranks, so that they can be matched;
  // `arrived` is when this rank had its data ready, `begin` when the operation started to move (all had
  // arrived), `end` when it was done.
  virtual void collective(std::uint64_t sequence, std::string_view name, std::uint64_t bytes, Instant arrived,
                          Instant begin, Instant end) noexcept = 0;

  // What the script reports at the end of a step: step 12 of 30 (0: not known), {"loss": 0.21, …}.
  virtual void metrics(std::uint64_t step, std::uint64_t steps,
                       std::span<const std::pair<std::string_view, double>> values) noexcept = 0;

  // Rank 0's clock minus this one's, as measured at start, so that timelines of different machines line up.
  virtual void clock_offset(Duration offset) noexcept = 0;

  // Hands what is buffered to the kernel. Done by itself when a block is full, when metrics come and the last
  // time was 200 ms ago, and at the end.
  virtual void flush() noexcept = 0;
};

}  // namespace longship::record
