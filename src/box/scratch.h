// SPDX-License-Identifier: Apache-2.0
// What a writable box writes, on a local disk instead of in memory: a directory of its own, which is gone
// when the box is, however that ends.
//
//   PARENT/longship-box-XXXXXX/lock, upper, work      mode 0700
//
// Nobody stands between the caller and the box's command who could clear up. So a process outside waits for
// the kernel to tell that the overlay is unmounted, which happens when the last process in the box has ended,
// and removes the directory. It holds the lock: what a killed one left, the next box with the same PARENT
// removes, unless some process still has the mount, which is called by the directory's name.
#pragma once
#include <filesystem>
#include <string>

#include "base/fd.h"
#include "layers.h"

namespace longship::box {

class Scratch {
 public:
  explicit Scratch(const std::filesystem::path& parent);  // on the host; forks, so the caller has one thread
  [[nodiscard]] Upper open_upper() const;
  [[nodiscard]] std::string mount_name() const { return directory_.filename(); }
  void settle(const std::string& root);  // the overlay is mounted there: from now on it decides

 private:
  void start_clearer();
  std::filesystem::path directory_;
  Fd lock_, events_;
  Pipe told_;
};

// Removes what killed processes left in `parent`.
void remove_abandoned_scratch(const std::filesystem::path& parent);

}  // namespace longship::box
