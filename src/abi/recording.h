// SPDX-License-Identifier: Apache-2.0
// The log of a process that never met the other ranks: a script that tells its progress and does all else by
// other means, or has no others. It is opened at the first thing to be recorded, where LONGSHIP_RECORD says.
//
// A log has one writer. So the session's takes over when there is one (close() first), and a forked child,
// which would write into its parent's, records nothing.
#pragma once
#include <sys/types.h>

#include <memory>

#include "record/writer.h"

namespace longship::abi {

class Recording {
 public:
  ~Recording();
  // Null if nothing is recorded here, or it cannot be: training goes on without.
  [[nodiscard]] record::Writer* writer() noexcept;
  void close() noexcept;  // what is buffered is written; writer() would open it again

 private:
  void open();
  [[nodiscard]] bool is_ours() const;

  std::unique_ptr<record::Writer> writer_;
  pid_t process_ = 0;  // that opened it, or tried to
};

}  // namespace longship::abi
