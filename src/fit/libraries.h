// SPDX-License-Identifier: Apache-2.0
// Libraries of a host and all that they need, found as its loader finds them.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/process.h"
#include "elf.h"
#include "file_tree.h"
#include "version.h"

namespace longship::fit {

struct HostLibrary {
  std::string name;                                   // under which it is asked for: "libmpi.so.12"
  std::filesystem::path path;                         // the file, without links
  std::optional<Version> glibc = {}, libstdcxx = {};  // what it wants: GLIBC_2.34, GLIBCXX_3.4.29
};

// Places are looked at in the order in which they were first named.
void add_new(std::vector<std::filesystem::path>& all, const std::filesystem::path& one);

// LD_LIBRARY_PATH, /etc/ld.so.conf with what it includes, and the directories that need no words.
[[nodiscard]] std::vector<std::filesystem::path> loader_directories(const FileTree& host,
                                                                    const Environment& environment);

// The file that a name stands for; nothing if it is in none of the directories.
[[nodiscard]] std::optional<std::filesystem::path> find_library(
    const FileTree& host, const std::string& name, const std::vector<std::filesystem::path>& directories);

// What files need, and what that needs in turn. Each file is read once.
class Needs {
 public:
  Needs(const FileTree& host, std::vector<std::filesystem::path> directories)
      : host_(host), directories_(std::move(directories)) {}

  void follow(
      const std::vector<std::filesystem::path>& files);  // those that were followed before are skipped
  // Without `files` themselves and without the C library's own; each name once.
  [[nodiscard]] const std::vector<HostLibrary>& found() const { return found_; }
  [[nodiscard]] const std::vector<std::string>& missing() const { return missing_; }

  [[nodiscard]] HostLibrary library(const std::filesystem::path& path, std::string name);

 private:
  const Elf& read(const std::filesystem::path& path);
  void follow(const std::filesystem::path& file, std::vector<std::filesystem::path>& to_do);

  const FileTree& host_;
  const std::vector<std::filesystem::path> directories_;
  std::map<std::filesystem::path, Elf> files_;
  std::set<std::filesystem::path> followed_;
  std::set<std::string> names_;
  std::vector<HostLibrary> found_;
  std::vector<std::string> missing_;
};

// One file as a library of that name.
[[nodiscard]] HostLibrary library_at(const FileTree& host, const std::filesystem::path& path,
                                     std::string name);

// The C library and its parts, which belong together and to the loader: never taken from elsewhere.
[[nodiscard]] bool is_of_glibc(std::string_view name);

}  // namespace longship::fit
