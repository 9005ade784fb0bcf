// SPDX-License-Identifier: Apache-2.0
#include "timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/file.h"
#include "formats/document.h"

namespace longship::trace {
namespace {

using formats::json_text;

class Timeline {
 public:
  Timeline(int fd, std::int64_t zero) : fd_(fd), zero_(zero) {
    put("{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  }

  void finish() {
    put("\n]}}\n");
    flush();
  }

  void add_rank(const record::Log& log, int process) {
    place_ = fmt::format("\"pid\":{},\"tid\":{}", process, thread(log, 0));
    std::vector<std::string> names;
    for (const auto& name : log.names) names.push_back(json_text(name));
    name_threads(log, process);
    for (const auto& span : log.spans)
      event("{{\"ph\":\"X\",\"cat\":\"{}\",\"name\":{},\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{}}}",
            name_of(span.activity), names[span.name], process, thread(log, span.lane), time(span.begin),
            microseconds(span.end - span.begin));
    for (const auto& collective : log.collectives) add_collective(log, collective, names[collective.name]);
    for (const auto& metrics : log.metrics) add_metrics(log, metrics);
  }

  void name_process(int process, std::string_view name) {
    event("{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"args\":{{\"name\":{}}}}}", process,
          json_text(name));
  }

 private:
  // Threads of a rank lie beside each other.
  static std::int64_t thread(const record::Log& log, std::uint32_t lane) {
    return std::int64_t{log.rank} * 1000 + lane;
  }

  void name_threads(const record::Log& log, int process) {
    std::set<std::uint32_t> lanes = {0};
    for (const auto& span : log.spans) lanes.insert(span.lane);
    for (const auto lane : lanes) {
      const auto name =
          lane == 0 ? fmt::format("rank {}", log.rank) : fmt::format("rank {}, thread {}", log.rank, lane);
      event("{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":\"{}\"}}}}",
            process, thread(log, lane), name);
    }
  }

  // The slice is from arrival to the end; within it, the time until all had arrived.
  void add_collective(const record::Log& log, const record::Collective& collective, std::string_view name) {
    const auto one =
        fmt::format("\"cat\":\"collective\",\"id\":\"{}.{}\",{}", log.rank, collective.sequence, place_);
    event("{{\"ph\":\"b\",\"name\":{},{},\"ts\":{},\"args\":{{\"sequence\":{},\"bytes\":{}}}}}", name, one,
          time(collective.arrived), collective.sequence, collective.bytes);
    if (collective.begin > collective.arrived) {
      constexpr std::string_view waiting = "\"waiting for others\"";
      event("{{\"ph\":\"b\",\"name\":{},{},\"ts\":{}}}", waiting, one, time(collective.arrived));
      event("{{\"ph\":\"e\",\"name\":{},{},\"ts\":{}}}", waiting, one, time(collective.begin));
    }
    event("{{\"ph\":\"e\",\"name\":{},{},\"ts\":{}}}", name, one, time(collective.end));
  }

  void add_metrics(const record::Log& log, const record::Metrics& metrics) {
    for (const auto& [name, value] : metrics.values) {
      if (!std::isfinite(value)) continue;  // JSON has no word for it
      event("{{\"ph\":\"C\",\"name\":{},{},\"ts\":{},\"args\":{{\"value\":{}}}}}",
            json_text(fmt::format("{} (rank {})", log.names[name], log.rank)), place_, time(metrics.at),
            value);
    }
  }

  // Microseconds, as the format wants them, to the nanosecond; not through a double, which would lose them.
  static std::string microseconds(std::int64_t nanoseconds) {
    return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
  }
  [[nodiscard]] std::string time(std::int64_t at) const { return microseconds(at - zero_); }

  template <class... Args>
  void event(fmt::format_string<Args...> format, Args&&... args) {
    if (!first_) text_ += ",\n";
    first_ = false;
    put(format, std::forward<Args>(args)...);
    if (text_.size() > (std::size_t{1} << 20)) flush();
  }
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  void flush() {
    write_all(fd_, text_);
    text_.clear();
  }

  int fd_;
  std::int64_t zero_;
  bool first_ = true;
  std::string text_;
  std::string place_;  // of the rank being written
};

std::int64_t beginning(const Run& run) {
  std::int64_t zero = std::numeric_limits<std::int64_t>::max();
  for (const auto& log : run.ranks) {
    for (const auto& span : log.spans) zero = std::min(zero, span.begin);
    for (const auto& collective : log.collectives) zero = std::min(zero, collective.arrived);
    for (const auto& metrics : log.metrics) zero = std::min(zero, metrics.at);
  }
  return zero;
}

}  // namespace

void write_timeline(const Run& run, const std::filesystem::path& file) {
  PendingFile pending(file);
  Timeline timeline(pending.fd(), beginning(run));
  std::map<std::string, int> processes;
  for (const auto& log : run.ranks) {
    const auto [found, fresh] = processes.emplace(log.node, static_cast<int>(processes.size()) + 1);
    if (fresh) timeline.name_process(found->second, log.node);
    timeline.add_rank(log, found->second);
  }
  timeline.finish();
  pending.commit();
}

}  // namespace longship::trace
