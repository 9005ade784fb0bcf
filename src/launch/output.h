// SPDX-License-Identifier: Apache-2.0
// Where the output of ranks goes. A reader that is slow, or a terminal that was stopped with Ctrl-S, must not
// stop the launcher from watching its ranks: what cannot be written yet waits in a queue of limited size, and
// while that is full nothing more is read from the ranks.
#pragma once
#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "lines.h"

namespace longship::launch {

enum class Stream : char { out = 'o', err = 'e' };

// A descriptor that is written to only when it is ready.
class Outlet {
 public:
  using Hook = std::function<void()>;
  // `before` and `after` are called around what is written, `after` only when nothing waits any more.
  // `lost`, with errno, when nothing can be written any more.
  explicit Outlet(int fd, Hook before = nullptr, Hook after = nullptr,
                  std::function<void(int)> lost = nullptr)
      : fd_(fd), before_(std::move(before)), after_(std::move(after)), lost_(std::move(lost)) {}
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool waiting() const { return written_ < pending_.size(); }
  [[nodiscard]] bool full() const { return pending_.size() > limit; }
  void add(std::string_view bytes);
  // Once poll() said POLLOUT: a pipe then takes this much without blocking. Nobody there any more: it is
  // dropped.
  void write_some();

 private:
  static constexpr std::size_t limit = 256u << 10;
  int fd_;
  Hook before_, after_;
  std::function<void(int)> lost_;
  bool closed_ = false;
  std::string pending_;
  std::size_t written_ = 0;  // of pending_, which is emptied only when all of it is
};

class Sink {
 public:
  virtual ~Sink() = default;
  virtual void take(int rank, Stream stream, std::string_view bytes) = 0;
  virtual void finish() = 0;  // no more will come: lines without an end are handed on
  [[nodiscard]] virtual std::vector<Outlet*> outlets() = 0;
};

// stdout and stderr of the launcher, each line marked with its rank.
class Screen final : public Sink {
 public:
  struct Options {
    bool prefix = true;
    bool colour = false;                                      // one per rank; only on a terminal
    bool all_to_stderr = false;                               // stdout is for the results, as JSON
    std::function<void()> before = nullptr, after = nullptr;  // a progress line steps aside and comes back
  };
  explicit Screen(const Options& options);
  void name_node(int first_rank, int ranks, const std::string& node);  // "[node1 3] " instead of "[3] "

  void take(int rank, Stream stream, std::string_view bytes) override;
  void finish() override;
  std::vector<Outlet*> outlets() override { return {&out_, &err_}; }

 private:
  void show(int rank, Stream stream, std::string_view line);
  [[nodiscard]] std::string label(int rank) const;

  Options options_;
  Outlet out_, err_;
  std::map<std::pair<int, Stream>, LineSplitter> splitters_;
  std::map<int, std::string> nodes_;
};

// rank-00003.out and rank-00003.err, byte for byte. What a full disk does not take is missing, with one
// warning, and where there is room again a line says so.
class RankFiles {
 public:
  RankFiles() = default;
  RankFiles(const std::filesystem::path& directory, int first_rank, int ranks);
  void write(int local_rank, Stream stream, std::string_view bytes);

  static constexpr std::string_view gap_line =
      "\nlongship: here output is missing: it could not be written\n";

 private:
  struct File {
    Fd fd;
    bool gap = false;  // something is missing at its end
  };
  std::vector<std::array<File, 2>> files_;
  bool warned_ = false;
};

}  // namespace longship::launch
