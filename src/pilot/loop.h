// SPDX-License-Identifier: Apache-2.0
// `longship pilot DIR`: what the machine of service.h decides, done with logs, signals and processes.
//
// DIR is SPOOL/pilots/PILOT (message/spool.h); docs/formats/spool.md tells what is read and written there.
//
// Failpoints, in the order in which they are passed:
//   pilot.began     Began is written
//   pilot.taken     records of the agent were read, nothing was done about them
//   pilot.running   Running is written, nothing was started
//   pilot.ran       the ranks ended, their outputs are still in the working directory
//   pilot.kept      outputs are kept, result.json is not written
//   pilot.ending    all is in place, Ended is not written
//   pilot.ended     Ended is written
//   pilot.left      Left is written
#pragma once
#include <filesystem>
#include <string>

#include "pilot.h"

namespace longship::pilot {

struct PilotOptions {
  std::filesystem::path directory;
  Installation installation = {};
  bool pretend = false;  // every attempt finishes at once, and nothing runs: for measuring everything else
};

// Returns when the pilot has left. An Error if the directory is no pilot's, or another pilot is in it.
void serve(const PilotOptions& options);

}  // namespace longship::pilot
