// SPDX-License-Identifier: Apache-2.0
// Files below a root: the host's "/", an image's directory, or a test's fixture. Links are followed within
// it.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longship::fit {

// A file's bytes, read only where they are looked at.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);  // empty if it cannot be read
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();
  [[nodiscard]] std::string_view bytes() const { return {static_cast<const char*>(at_), size_}; }

 private:
  void* at_ = nullptr;
  std::size_t size_ = 0;
};

class FileTree {
 public:
  explicit FileTree(std::filesystem::path root = "/") : root_(std::move(root)) {}

  // The path without links, as it is seen from the root; nothing if there is no such thing.
  [[nodiscard]] std::optional<std::filesystem::path> real(const std::filesystem::path& path) const;
  // Names in a directory, in alphabetical order; none if it is none.
  [[nodiscard]] std::vector<std::string> names_in(const std::filesystem::path& directory) const;
  [[nodiscard]] bool is_directory(const std::filesystem::path& path) const;
  // A small text, or nothing.
  [[nodiscard]] std::string text(const std::filesystem::path& path) const;
  // Where it is outside, for those who open it; the path has to be real().
  [[nodiscard]] std::filesystem::path outside(const std::filesystem::path& path) const {
    return root_ / path.relative_path();
  }

 private:
  [[nodiscard]] std::optional<std::filesystem::path> resolve(const std::filesystem::path& path,
                                                             int links) const;
  [[nodiscard]] std::optional<std::filesystem::path> resolve_directory(const std::filesystem::path& path,
                                                                       int links) const;

  std::filesystem::path root_;
  // Directories that were looked up before: thousands of names are asked for in a few of them.
  mutable std::map<std::string, std::optional<std::filesystem::path>> directories_;
};

}  // namespace longship::fit
