// SPDX-License-Identifier: Apache-2.0
// A run as a picture: the trace event format of Chrome, which https://ui.perfetto.dev opens. A process per
// node, a thread per rank (and one more for each other thread of it), collectives as asynchronous slices
// since several may be under way, metrics as counters. Times begin at the first thing recorded.
#pragma once
#include <filesystem>

#include "run.h"

namespace longship::trace {

// Written aside and renamed; as it goes, so a long run costs no memory.
void write_timeline(const Run& run, const std::filesystem::path& file);

}  // namespace longship::trace
