// SPDX-License-Identifier: Apache-2.0
// Work in progress in the store: a file, and a directory beside it if one is needed, that go away with their
// maker.
//
// The maker holds a lock on the file, which the kernel releases however the maker ends. So what a killed
// process left behind is recognised by its lock being free, on any host that shares the store, and is removed
// by the next one that makes an aside.
#pragma once
#include <filesystem>

#include "base/fd.h"

namespace longship::store {

class Aside {
 public:
  explicit Aside(const std::filesystem::path& asides);  // the directory for all of them; made if need be
  Aside(Aside&& other) noexcept : path_(std::move(other.path_)), fd_(std::move(other.fd_)) {
    other.path_.clear();
  }
  Aside& operator=(Aside&&) = delete;
  ~Aside();

  [[nodiscard]] int fd() const { return fd_.get(); }  // empty, open for reading and writing
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // Made at the first call; does not survive the aside, also if the file is committed.
  [[nodiscard]] std::filesystem::path directory() const;

  // Syncs the file and gives it its name, at once.
  void commit_as(const std::filesystem::path& path);

 private:
  std::filesystem::path path_;
  Fd fd_;
};

void remove_abandoned(const std::filesystem::path& asides) noexcept;

}  // namespace longship::store
