// SPDX-License-Identifier: Apache-2.0
// How the ranks of a process set find each other on their GPUs: through the engine, which is there already.
#pragma once
#include <string>
#include <vector>

#include "driver.h"

namespace longship::collective {

// By all ranks of the set alike, each with its GPU as the current device of the calling thread. Afterwards
// operations of that set may be on the device. `file`: NCCL (nccl_library.h). If a rank cannot load it, all
// are told which.
void meet_on_devices(Driver& driver, int set, const std::vector<int>& ranks, int rank,
                     const std::string& file);

}  // namespace longship::collective
