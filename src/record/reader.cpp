// SPDX-License-Identifier: Apache-2.0
#include "reader.h"

#include <fmt/core.h>

#include <cstring>

#include "base/error.h"
#include "encoding.h"

namespace longship::record {
namespace {

constexpr std::size_t most_entries = std::size_t{1}
                                     << 28;  // of one log, so that a hostile one cannot eat the memory

// Takes values off the front of a block; each throws when the block ends too early or the value is out of
// range.
class Decoder {
 public:
  Decoder(std::string_view block, Log& log) : rest_(block), log_(log) {}

  void all() {
    if (rest_.empty()) throw Error("a block is empty");
    if (const auto version = byte(); version != block_version)
      throw Error("a block has version {}, which this program does not know", version);
    time();
    while (!rest_.empty()) entry(byte());
  }

 private:
  void entry(std::uint8_t kind) {
    if (kind >= static_cast<std::uint8_t>(Kind::span)) return span(kind - static_cast<unsigned>(Kind::span));
    switch (static_cast<Kind>(kind)) {
      case Kind::session:
        return session();
      case Kind::name:
        return name();
      case Kind::lane:
        lane_ = small(most_lanes);
        return;
      case Kind::clock_offset:
        log_.clock_offset = in_range(difference());
        return;
      case Kind::collective:
        return collective();
      case Kind::metrics:
        return metrics();
      case Kind::lost:
        log_.lost += number();
        return;
      default:
        throw Error("a block has an entry of unknown kind {}", kind);
    }
  }

  void session() {
    Log fresh;
    fresh.earlier = log_.begun ? log_.earlier + 1 : 0;
    fresh.begun = true;
    fresh.rank = static_cast<int>(small(most_ranks));
    fresh.size = static_cast<int>(small(most_ranks));
    fresh.local_rank = static_cast<int>(small(most_ranks));
    fresh.time_of_day = difference();
    fresh.start = latest_;
    fresh.node = text();
    log_ = std::move(fresh);
  }

  void name() {
    if (log_.names.size() >= most_names) throw Error("a log has more than {} names", most_names);
    log_.names.emplace_back(text());
  }

  void span(unsigned activity) {
    if (activity >= activity_names.size()) throw Error("a span is of unknown activity {}", activity);
    Span span;
    span.activity = static_cast<Activity>(activity);
    span.lane = lane_;
    span.name = known_name();
    span.begin = time();
    span.end = later();
    log_.spans.push_back(span);
  }

  void collective() {
    Collective collective;
    sequence_ += static_cast<std::uint64_t>(difference());
    collective.sequence = sequence_;
    collective.name = known_name();
    collective.bytes = number();
    collective.arrived = time();
    collective.begin = later();
    collective.end = later();
    log_.collectives.push_back(collective);
  }

  void metrics() {
    Metrics metrics;
    metrics.lane = lane_;
    metrics.at = time();
    metrics.step = number();
    metrics.steps = number();
    for (auto left = small(most_values + 1); left > 0; --left) {
      const auto name = known_name();
      double value = 0;
      std::memcpy(&value, take(sizeof value).data(), sizeof value);
      metrics.values.emplace_back(name, value);
    }
    log_.metrics.push_back(std::move(metrics));
  }

  std::string_view take(std::size_t size) {
    if (size > rest_.size()) throw Error("a block ends in the middle of an entry");
    const auto taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::uint8_t byte() { return static_cast<std::uint8_t>(take(1).front()); }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto next = byte();
      value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
      if (next < 0x80) return value;
    }
    throw Error("a number in a block is too long");
  }
  std::uint32_t small(std::size_t limit) {
    const auto value = number();
    if (value >= limit) throw Error("a number in a block is too large: {}", value);
    return static_cast<std::uint32_t>(value);
  }
  std::int64_t difference() { return unzigzag(number()); }
  static std::int64_t in_range(std::int64_t value) {
    if (value < -largest_time || value > largest_time) throw Error("a time in a block is out of range");
    return value;
  }
  std::int64_t time() {
    const auto by = difference();
    if (by < -2 * largest_time || by > 2 * largest_time) throw Error("a time in a block is out of range");
    return latest_ = in_range(latest_ + by);
  }
  std::int64_t later() {
    const auto by = number();
    if (by > 2 * static_cast<std::uint64_t>(largest_time)) throw Error("a time in a block is out of range");
    return latest_ = in_range(latest_ + static_cast<std::int64_t>(by));
  }
  std::uint32_t known_name() {
    const auto index = number();
    if (index >= log_.names.size()) throw Error("an entry has a name that was never given");
    return static_cast<std::uint32_t>(index);
  }
  std::string text() { return std::string(take(small(largest_name + 1))); }

  std::string_view rest_;
  Log& log_;
  std::int64_t latest_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint32_t lane_ = 0;
};

LiveMetrics in_words(const Metrics& metrics, const Log& log) {
  LiveMetrics words{metrics.step, metrics.steps, {}};
  for (const auto& [name, value] : metrics.values) words.values.emplace_back(log.names[name], value);
  return words;
}

}  // namespace

std::filesystem::path log_path(const std::filesystem::path& directory, int rank) {
  return directory / fmt::format("rank-{:05}.rec", rank);
}

Log read_log(const std::filesystem::path& path) {
  Log log;
  RecordLogReader reader(path);
  try {
    while (const auto record = reader.next()) {
      decode(record->payload, log);
      if (log.spans.size() + log.collectives.size() + log.metrics.size() > most_entries)
        throw Error("it has too many entries");
    }
    if (reader.bytes_beyond() > 0) log.problem = "its last block was cut off";
  } catch (const Error& error) {
    if (!log.begun) throw;
    log.problem = error.what();
  }
  if (!log.begun) throw Error("there is nothing in {}", path.string());
  return log;
}

void decode(std::string_view block, Log& log) {
  Decoder(block, log).all();
}

std::optional<LiveMetrics> Follower::poll() {
  std::optional<LiveMetrics> latest;
  try {
    while (!damaged_) {
      const auto record = reader_.next();
      if (!record) break;
      decode(record->payload, log_);
      if (!log_.metrics.empty()) latest = in_words(log_.metrics.back(), log_);
      log_.metrics.clear();
      log_.spans.clear();
      log_.collectives.clear();
    }
  } catch (const Error&) {
    damaged_ = true;
  }
  return latest;
}

}  // namespace longship::record
