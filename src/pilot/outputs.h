// SPDX-License-Identifier: Apache-2.0
// What a job leaves behind, moved from its working directory to where it is kept.
//
// The names in there were chosen by the job: only regular files are taken, no link is followed, nothing
// outside is touched. Each file is there whole or not at all.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace longship::pilot {

struct Output {
  std::string name;  // relative: "checkpoints/3.pt"
  std::uint64_t size = 0;
};

struct Kept {
  std::vector<Output> outputs;       // by name
  std::vector<std::string> missing;  // names asked for, not patterns, for which there is nothing
};

// `names` are as in [outputs] keep: names of files or directories, or patterns ("*.pt", "logs/**"), relative
// to `work`. Both directories must be on one file system.
[[nodiscard]] Kept keep_outputs(const std::filesystem::path& work, std::span<const std::string> names,
                                const std::filesystem::path& into);

}  // namespace longship::pilot
