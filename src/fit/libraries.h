// SPDX-License-Identifier: Apache-2.0
// Libraries of a host and all that they need, found as its loader finds them.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/process.h"
#include "file_tree.h"
#include "version.h"

namespace longship::fit {

struct HostLibrary {
  std::string name;                                   // under which it is asked for: "libmpi.so.12"
  std::filesystem::path path;                         // the file, without links
  std::optional<Version> glibc = {}, libstdcxx = {};  // what it wants: GLIBC_2.34, GLIBCXX_3.4.29
};

struct Libraries {
  std::vector<HostLibrary> found;    // each name once; without the C library's own
  std::vector<std::string> missing;  // needed, and nowhere to be found
};

// LD_LIBRARY_PATH, /etc/ld.so.conf with what it includes, and the directories that need no words.
[[nodiscard]] std::vector<std::filesystem::path> loader_directories(const FileTree& host,
                                                                    const Environment& environment);

// The file that a name stands for; nothing if it is in none of the directories.
[[nodiscard]] std::optional<std::filesystem::path> find_library(
    const FileTree& host, const std::string& name, const std::vector<std::filesystem::path>& directories);

// What these files need, and what that needs in turn; not the files themselves.
[[nodiscard]] Libraries needed_by(const FileTree& host, const std::vector<std::filesystem::path>& files,
                                  const std::vector<std::filesystem::path>& directories);

// One file as a library of that name.
[[nodiscard]] HostLibrary library_at(const FileTree& host, const std::filesystem::path& path,
                                     std::string name);

// The C library and its parts, which belong together and to the loader: never taken from elsewhere.
[[nodiscard]] bool is_of_glibc(std::string_view name);

}  // namespace longship::fit
