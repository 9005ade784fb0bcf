// SPDX-License-Identifier: Apache-2.0
// The journals of studies that live at the hub: a copy of each log, as whoever carries the study out writes
// it. Logs only grow, and what they say is his business: here they are bytes with a length. Any thread may
// ask.
//
//   DIR/DIGEST/run           who carries it out: nobody else may append; the digest is that of owner and name
//   DIR/DIGEST/0, 0.1, 1, …  the logs: number of the writer, and of the segment if it is not the first
#pragma once
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace longship::hub {

// It makes sense, but not after what others have done.
class StudyConflict : public Error {
  using Error::Error;
};

// "3", or "3.1" for a later segment: nothing else becomes the name of a file, neither here nor where the
// journal is fetched to.
[[nodiscard]] bool is_journal_log(std::string_view name);

class StudyJournals {
 public:
  static constexpr std::size_t largest_piece = std::size_t{8} << 20;
  static constexpr std::uint64_t largest_log = std::uint64_t{128} << 20;  // a writer's segments have 64 MiB
  static constexpr std::size_t most_logs = 100'000;

  struct Study {
    std::string owner, name;
  };
  struct Log {
    std::string name;
    std::uint64_t bytes = 0;
  };
  struct Piece {
    std::string log, run;
    std::uint64_t at = 0;
  };

  explicit StudyJournals(std::filesystem::path directory);

  // From now on `run` carries the study out, and whoever did before is refused.
  void carry_out(const Study& study, const std::string& run);
  // Appends, durably; what is there already is compared instead, so that a piece may be sent again. How long
  // the log is then.
  std::uint64_t append(const Study& study, const Piece& piece, std::string_view bytes);
  [[nodiscard]] std::vector<Log> logs(const Study& study) const;  // none: it does not live here
  // At most a piece; an Error if there is no such log.
  [[nodiscard]] std::string read(const Study& study, const std::string& log, std::uint64_t from) const;

 private:
  [[nodiscard]] std::filesystem::path place_of(const Study& study) const;

  std::filesystem::path directory_;
  mutable std::mutex mutex_;
};

}  // namespace longship::hub
