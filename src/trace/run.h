// SPDX-License-Identifier: Apache-2.0
// The logs of one run, all times on rank 0's clock.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "interval.h"
#include "record/reader.h"

namespace longship::trace {

struct Run {
  std::vector<record::Log> ranks;     // in order; those that could be read
  int size = 0;                       // how many there were, by their own word
  std::vector<std::string> problems;  // what is missing or damaged, a sentence each
};

// The directory itself if it holds rank-*.rec, else its subdirectory `record`. An Error if there is nothing
// to read.
[[nodiscard]] Run load(const std::filesystem::path& directory);

// Sorts, moves to rank 0's clock, says what is missing: load() without the reading, for logs from elsewhere.
[[nodiscard]] Run assemble(std::vector<record::Log> logs);

// The time that a report is about: from the first metrics to the last (whole steps, without start-up), or,
// where scripts report none, from the first thing recorded to the last.
[[nodiscard]] Interval training_interval(const Run& run);

// The part of it in which this rank was there, by its own log.
[[nodiscard]] Interval training_interval(const record::Log& log, const Interval& whole);

// The thread that trains: the one that reports metrics, else the one that opened the log if it recorded
// spans, else the one that recorded most of them.
[[nodiscard]] std::uint32_t training_lane(const record::Log& log);

}  // namespace longship::trace
