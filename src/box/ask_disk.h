// SPDX-License-Identifier: Apache-2.0
// Bytes of an image that the disk is to bring while something else is done: whoever reads them later waits
// less, or not at all. Where they are in memory already this costs a microsecond; where the kernel does not
// know how, nothing is asked for.
#pragma once
#include <cstdint>

#include "read_around.h"

namespace longship::box {

// All of the stretch, but first what lies at the position, which somebody is about to read, if it is in it.
void ask_disk_around(int image, std::uint64_t position, const ReadAround::Stretch& stretch);

// Inodes, directories and the tables behind them, which are read in many small pieces.
void ask_disk_for_tables(int image);

}  // namespace longship::box
