// SPDX-License-Identifier: Apache-2.0
#include "writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/record_log.h"
#include "block.h"
#include "reader.h"

namespace longship::record {
namespace {

constexpr std::int64_t between_flushes = 200'000'000;  // ns, of metrics
constexpr std::size_t most_sealed = 32;                // blocks that wait for a slow disk: 2 MiB
constexpr std::size_t largest_entry =
    512;  // of all kinds but metrics, with the lane and a new name before it
constexpr std::string_view too_many_names = "(further names)";

std::int64_t nanoseconds(Instant instant) {
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(instant.time_since_epoch()).count();
  return std::clamp<std::int64_t>(since, -largest_time, largest_time);
}

std::int64_t now() {
  return nanoseconds(std::chrono::steady_clock::now());
}

struct NameHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
};

// Two locks: `encoding_` for the block being filled, held for nanoseconds; `writing_` for the log, held
// during I/O and by a recording thread only ever tried. A full block is sealed under the first; whoever gets
// the second writes it. A thread that does not get it leaves its block to the one that has it, which looks
// again before it goes.
class LogWriter final : public Writer {
 public:
  LogWriter(const std::filesystem::path& path, const Identity& identity)
      : log_(path), lock_(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    ::flock(lock_.get(), LOCK_EX | LOCK_NB);
    block_.begin(now());
    (void)lane();  // the opening thread is lane 0
    start_session(identity);
    flush();
    last_flush_ = 0;  // the first metrics are shown at once: the second may be minutes away
  }

  ~LogWriter() override { flush(); }

  void span(Activity activity, std::string_view name, Instant begin, Instant end) noexcept override {
    record(largest_entry, [&] {
      const auto id = intern(name);
      const auto from = nanoseconds(begin), to = std::max(from, nanoseconds(end));
      block_.lane(lane());
      block_.kind(Kind::span, static_cast<unsigned>(activity));
      block_.number(id);
      block_.time(from);
      block_.later(to);
      flush_metrics_if_due(to);
    });
  }

  void collective(std::uint64_t sequence, std::string_view name, std::uint64_t bytes, Instant arrived,
                  Instant begin, Instant end) noexcept override {
    record(largest_entry, [&] {
      const auto id = intern(name);
      const auto first = nanoseconds(arrived), second = std::max(first, nanoseconds(begin));
      const auto third = std::max(second, nanoseconds(end));
      block_.lane(lane());
      block_.kind(Kind::collective);
      block_.sequence(sequence);
      block_.number(id);
      block_.number(bytes);
      block_.time(first);
      block_.later(second);
      block_.later(third);
      flush_metrics_if_due(third);
    });
  }

  void metrics(std::uint64_t step, std::uint64_t steps,
               std::span<const std::pair<std::string_view, double>> values) noexcept override {
    values = values.first(std::min(values.size(), most_values));
    const auto per_value = 2 + largest_name + 2 * largest_varint + sizeof(double);
    record(largest_entry + values.size() * per_value, [&] {
      std::array<std::uint64_t, most_values> ids{};
      std::transform(values.begin(), values.end(), ids.begin(),
                     [&](const auto& value) { return intern(value.first); });
      const auto at = now();
      block_.lane(lane());
      block_.kind(Kind::metrics);
      block_.time(at);
      block_.number(step);
      block_.number(steps);
      block_.number(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        block_.number(ids[i]);
        block_.real(values[i].second);
      }
      metrics_are_due_ = true;
      flush_metrics_if_due(at);
    });
  }

  void clock_offset(Duration offset) noexcept override {
    record(largest_entry, [&] {
      block_.kind(Kind::clock_offset);
      block_.difference(std::clamp<std::int64_t>(offset.count(), -largest_time, largest_time));
    });
  }

  void flush() noexcept override {
    try {
      {
        const std::lock_guard lock(encoding_);
        seal();
      }
      const std::lock_guard lock(writing_);
      write_sealed();
    } catch (...) {
      give_up();
    }
  }

 private:
  // Calls `encode` with `size` bytes of room in the block, and sees to full blocks afterwards.
  template <class Encode>
  void record(std::size_t size, Encode&& encode) noexcept {
    try {
      bool something_sealed = false;
      {
        const std::lock_guard lock(encoding_);
        if (!make_room(size)) return;
        encode();
        something_sealed = !sealed_.empty();
      }
      if (something_sealed) write_unless_busy();
    } catch (...) {
      give_up();
    }
  }

  // False if the entry has to be dropped: the log has ended, or the disk is far behind.
  bool make_room(std::size_t size) {
    if (ended_) return false;
    if (block_.room() >= size) return true;
    if (sealed_.size() >= most_sealed) {
      ++lost_;
      return false;
    }
    seal();
    if (lost_ > 0) {
      block_.kind(Kind::lost);
      block_.number(std::exchange(lost_, 0));
    }
    return true;
  }

  void seal() {
    if (block_.empty() || ended_) return;
    sealed_.emplace_back(block_.bytes());
    const auto at = now();
    block_.begin(at);
    last_flush_ = at;
    metrics_are_due_ = false;
  }

  void flush_metrics_if_due(std::int64_t at) {
    if (metrics_are_due_ && at - last_flush_ >= between_flushes && sealed_.size() < most_sealed) seal();
  }

  void write_unless_busy() {
    for (;;) {
      std::unique_lock lock(writing_, std::try_to_lock);
      if (!lock) return;
      write_sealed();
      lock.unlock();
      const std::lock_guard look_again(encoding_);
      if (sealed_.empty()) return;
    }
  }

  void write_sealed() {
    for (;;) {
      std::string block;
      {
        const std::lock_guard lock(encoding_);
        if (sealed_.empty()) return;
        block = std::move(sealed_.front());
        sealed_.pop_front();
      }
      // A forked child (a loader of data) has a copy of this object, but the log is its parent's.
      if (::getpid() == owner_) log_.append(block);
    }
  }

  void give_up() noexcept {
    const std::lock_guard lock(encoding_);
    ended_ = true;
    sealed_.clear();
  }

  void start_session(const Identity& identity) {
    const auto time_of_day = std::chrono::system_clock::now().time_since_epoch();
    block_.kind(Kind::session);
    block_.number(static_cast<std::uint64_t>(identity.rank));
    block_.number(static_cast<std::uint64_t>(identity.size));
    block_.number(static_cast<std::uint64_t>(identity.local_rank));
    block_.difference(std::chrono::duration_cast<std::chrono::nanoseconds>(time_of_day).count());
    block_.text(identity.node.substr(0, largest_name));
  }

  std::uint64_t lane() {
    const auto self = std::this_thread::get_id();
    if (const auto found = std::find(lanes_.begin(), lanes_.end(), self); found != lanes_.end())
      return static_cast<std::uint64_t>(found - lanes_.begin());
    if (lanes_.size() < most_lanes) lanes_.push_back(self);
    return lanes_.size() - 1;
  }

  std::uint64_t intern(std::string_view name) {
    name = name.substr(0, largest_name);
    if (const auto found = names_.find(name); found != names_.end()) return found->second;
    if (names_.size() == most_names - 1) name = too_many_names;
    if (names_.size() == most_names) return names_.find(too_many_names)->second;
    const auto id = names_.size();
    names_.emplace(name, id);
    block_.kind(Kind::name);
    block_.text(name);
    return id;
  }

  std::mutex encoding_;
  Block block_;
  std::deque<std::string> sealed_;
  std::unordered_map<std::string, std::uint64_t, NameHash, std::equal_to<>> names_;
  std::vector<std::thread::id> lanes_;
  std::uint64_t lost_ = 0;
  std::int64_t last_flush_ = 0;
  bool metrics_are_due_ = false;
  bool ended_ = false;

  std::mutex writing_;
  RecordLogWriter log_;
  const Fd lock_;  // for is_taken()
  const pid_t owner_ = ::getpid();
};

}  // namespace

bool Writer::is_taken(const std::filesystem::path& directory, int rank) noexcept {
  try {
    const Fd log(::open(log_path(directory, rank).c_str(), O_RDWR | O_CLOEXEC));
    return log && ::flock(log.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  } catch (const std::exception&) {
    return false;
  }
}

std::unique_ptr<Writer> Writer::open(const std::filesystem::path& directory, const Identity& identity,
                                     std::string* problem) noexcept {
  try {
    std::filesystem::create_directories(directory);
    return std::make_unique<LogWriter>(log_path(directory, identity.rank), identity);
  } catch (const std::exception& error) {
    if (problem != nullptr) *problem = Error::of(error).what();
    return nullptr;
  }
}

}  // namespace longship::record
