// SPDX-License-Identifier: Apache-2.0
// The log of a process that never met the other ranks: a script that tells its progress and does all else by
// other means, or has no others. It is opened at the first thing to be recorded, where LONGSHIP_RECORD says.
//
// A log has one writer, and a reader shows what its last one wrote. So the session's takes over when there is
// one, for good: what a script tells after its shutdown would hide all of it. And a forked child, which would
// write into its parent's, records nothing.
#pragma once
#include <sys/types.h>

#include <memory>
#include <string>

#include "record/writer.h"

namespace longship::abi {

class Recording {
 public:
  ~Recording();
  // Null if nothing is recorded here, or it cannot be: training goes on without.
  [[nodiscard]] record::Writer* writer() noexcept;
  void close() noexcept;                       // what is buffered is written; writer() would open it again
  void give_up(const std::string& directory);  // a session records there from now on

 private:
  void open();
  [[nodiscard]] bool is_ours() const;

  std::unique_ptr<record::Writer> writer_;
  pid_t process_ = 0;     // that opened it, or tried to
  std::string given_up_;  // this directory's log is another's
};

}  // namespace longship::abi
