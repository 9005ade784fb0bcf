// SPDX-License-Identifier: Apache-2.0
// What the system allows one process and one user, beside what the ranks of a node take. Asked before the
// first rank starts where it can be known, so that nobody meets "Too many open files" in the middle.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"

namespace longship::launch {

struct OpenFiles {
  std::uint64_t limit = 0, hard_limit = 0;  // RLIMIT_NOFILE; the limit can be raised up to the hard one
  std::uint64_t open = 0;                   // by now
};
[[nodiscard]] OpenFiles open_files_of_this_process();

// A sentence if the launcher of so many ranks, each of whose output it may also write to files, needs more
// than there are.
[[nodiscard]] std::optional<std::string> lack_of_files(const OpenFiles& there, std::uint64_t ranks,
                                                       bool to_files);

// Why the next rank could not be forked after so many others.
[[nodiscard]] Error cannot_fork(int number, std::size_t started, std::size_t ranks);

}  // namespace longship::launch
