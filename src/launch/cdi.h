// SPDX-License-Identifier: Apache-2.0
// The Container Device Interface: files in which a vendor's tools say what a container needs for a device
// (github.com/cncf-tags/container-device-interface). Fuzzer: tests/fuzz/cdi_fuzz.cpp.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace longship::launch {

struct CdiEdits {
  struct Mount {
    std::filesystem::path from, to;
    bool read_only = true;
  };
  std::vector<Mount> devices, mounts;  // device nodes are mounted too
  std::map<std::string, std::string> environment;
  int hooks = 0;  // programs of the vendor, which we do not run
};

struct CdiSpec {
  std::string kind;  // "nvidia.com/gpu"
  CdiEdits edits;    // for any of its devices
  std::map<std::string, CdiEdits> devices;
};

// JSON or YAML, which the first character tells. An Error with place and key for what is none.
[[nodiscard]] CdiSpec parse_cdi(std::string_view text, std::string_view origin);

// All *.json and *.yaml in these directories; the later directory counts for a device that is in both. A file
// that cannot be understood is left out with a warning.
[[nodiscard]] std::vector<CdiSpec> read_cdi(const std::vector<std::filesystem::path>& directories);

}  // namespace longship::launch
