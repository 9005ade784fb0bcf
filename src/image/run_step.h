// SPDX-License-Identifier: Apache-2.0
// One RUN of a build: a command in a box over an image, as its root; what it writes lands in a directory.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "base/process.h"

namespace longship::image {

struct RunStep {
  std::filesystem::path root;   // a SquashFS file
  std::filesystem::path upper;  // an empty directory
  std::filesystem::path unpacked;
  std::vector<std::string> command;
  Environment environment;
  std::string working_directory;
};

// Output goes to stderr: stdout is for results. An Error if the box cannot be made, or the command does not
// end well.
void run_step(const RunStep& step);

}  // namespace longship::image
