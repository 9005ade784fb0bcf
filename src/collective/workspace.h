// SPDX-License-Identifier: Apache-2.0
// What an all-reduce in shared memory needs while it runs. Who keeps it from one to the next does not ask the
// C library for memory each time, which takes as long as to reduce 16 KiB.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pieces.h"

namespace longship::collective {

struct Workspace {
  Pieces pieces;                        // this rank's tensors
  const std::uint64_t* told = nullptr;  // where each rank has its one tensor, if not to be read in the Posts
  std::vector<std::byte*> mapped;       // the tensors of all, as Reach tells them
  // A chunk of each rank: what is read, and what is written.
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
};

}  // namespace longship::collective
