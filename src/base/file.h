// SPDX-License-Identifier: Apache-2.0
// Whole files, files that appear at once or not at all, and temporary directories that go away.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "fd.h"

namespace longship {

[[nodiscard]] Fd open_file(const std::filesystem::path& path, int flags,
                           unsigned mode = 0666);  // O_CLOEXEC is added

// The whole of a file; one larger than `limit` is an error, so that a wrong path cannot eat the memory.
[[nodiscard]] std::string read_file(const std::filesystem::path& path,
                                    std::size_t limit = std::size_t{1} << 30);

// What a file has from there on, at most so much; less where it ends.
[[nodiscard]] std::string read_part(const std::filesystem::path& path, std::uint64_t from, std::size_t most);

// The last line that says something, of what a file has from there on, as far as the last kilobytes tell;
// empty if it is not there.
[[nodiscard]] std::string last_line_of(const std::filesystem::path& path, std::uint64_t from = 0);

[[nodiscard]] std::uint64_t size_if_there(const std::filesystem::path& path);  // 0 if not

// All of it, through short writes and EINTR.
void write_all(int fd, std::string_view bytes);

// Written aside under a fresh name, synced, renamed: a reader sees the old file or the new one, also after a
// crash.
void write_file(const std::filesystem::path& path, std::string_view bytes, unsigned mode = 0666);

// A file being written aside. Nothing is at `path` until commit(); without it the aside goes away.
class PendingFile {
 public:
  explicit PendingFile(std::filesystem::path path, unsigned mode = 0666);
  PendingFile(PendingFile&&) noexcept = default;
  PendingFile& operator=(PendingFile&&) = delete;
  ~PendingFile();
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const std::filesystem::path& aside() const { return aside_; }
  // Syncs, renames to the path (or to another on the same file system, if only now its name is known), syncs
  // the directory.
  void commit();
  void commit_as(const std::filesystem::path& path);

 private:
  std::filesystem::path path_, aside_;
  Fd fd_;
};

void sync_directory(const std::filesystem::path& directory);

// Made 0700 beneath `parent` ($TMPDIR or /tmp if empty); removed with all that is in it.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(std::string_view prefix = "longship", const std::filesystem::path& parent = {});
  TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  std::filesystem::path keep();  // gives up the ownership

 private:
  std::filesystem::path path_;
};

// Removes a tree also where its directories are not writable; links are not followed. True if all of it is
// gone.
bool remove_tree(const std::filesystem::path& path) noexcept;

}  // namespace longship
