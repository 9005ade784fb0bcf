// SPDX-License-Identifier: Apache-2.0
// A study on a file system that any number of processes and machines share, any of which may be killed at any
// moment. There are no locks: each process appends to a record log of its own and reads those of the others.
//
//   DIR/writer-0/log, DIR/writer-1/log, …   one for each process that ever wrote; the records are events
//   (event.h),
//                                           the first of each log is Opened; parameters have the writer's own
//                                           numbers
//   DIR/numbers/K -> N                      trial numbers from K to K + N - 1 belong to who made this link
//   DIR/taken/K -> writer                   the waiting trial K is carried out by who made this link
//
// Making a directory or a symbolic link that is already there fails, and only one of many can succeed: that
// is all the agreement there is. Blocks of numbers grow with use, from 1 to 16, so that a long study does not
// mean a file for each trial; numbers are therefore unique, but not without gaps when several processes share
// a study.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/record_log.h"
#include "event.h"

namespace longship::study {

class Journal {
 public:
  explicit Journal(std::filesystem::path directory);
  Journal(Journal&&) = default;

  // Hands over what others have written since the last time, with their parameters' numbers; `translated`
  // gives ours for them.
  using Translate = std::function<ParameterId(const ParameterDefined&)>;
  void read_new(const Translate& translated, const std::function<void(const Event&)>& take);

  // Logs of others in which records lie beyond damage, where nothing can read them: each with the place.
  struct Damage {
    std::filesystem::path log;
    std::uint64_t offset = 0, records = 0;  // in its last segment that could be read
  };
  [[nodiscard]] std::vector<Damage> damage() const;

  // Durable: after it returned the event is on the disk, with all that was written before.
  void write(const Event& event, bool durable);
  [[nodiscard]] bool knows(ParameterId id) const { return defined_.contains(id); }  // told the others of it

  // What our log will begin with; to be called before the first write. Who only reads has no log.
  void introduce(Opened opened) { opened_ = std::move(opened); }
  void begin();  // makes our log now, durably: the study is there for others to find

  TrialNumber claim_number();
  // Of a journal whose logs were brought from elsewhere: no number that they know is given again.
  void claim_known();
  [[nodiscard]] bool claim_waiting(TrialNumber number);

 private:
  struct Other {
    RecordLogReader reader;
    std::map<ParameterId, ParameterId> ids;
  };
  void begin_writing();
  void leave_parent();
  void find_others();

  std::filesystem::path directory_;
  std::optional<Opened> opened_;
  std::unique_ptr<RecordLogWriter> writer_;
  pid_t owner_ = 0;                   // who opened the writer: a forked child needs one of its own
  std::optional<std::uint32_t> own_;  // number of the writer
  std::set<ParameterId> defined_;
  std::map<std::uint32_t, Other> others_;
  TrialNumber block_next_ = 0, block_end_ = 0, search_from_ = 0;
  std::uint64_t block_size_ = 1;
};

}  // namespace longship::study
