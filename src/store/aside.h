// SPDX-License-Identifier: Apache-2.0
// Work in progress in the store: a file, and a directory beside it if one is needed, that go away with their
// maker.
//
// The maker holds a lock on the file, which the kernel releases however the maker ends. So what a killed
// process left behind is recognised by its lock being free, on any host that shares the store, and is removed
// by the next one that makes an aside.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/fd.h"

namespace longship::store {

class Aside {
 public:
  explicit Aside(const std::filesystem::path& asides);  // the directory for all of them; made if need be
  Aside(Aside&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::move(other.fd_)), lasting_(other.lasting_) {
    other.path_.clear();
  }
  Aside& operator=(Aside&&) = delete;
  ~Aside();

  // One that stays when its maker goes, unless it is empty, so that the next who wants this path finds what
  // there is of it. Nothing if somebody is at it.
  [[nodiscard]] static std::optional<Aside> lasting(const std::filesystem::path& path);

  [[nodiscard]] int fd() const { return fd_.get(); }  // empty if it is new; open for reading and writing
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // Made at the first call; does not survive the aside, also if the file is committed.
  [[nodiscard]] std::filesystem::path directory() const;

  // Syncs the file and gives it its name, at once.
  void commit_as(const std::filesystem::path& path);

 private:
  Aside(std::filesystem::path path, Fd fd) : path_(std::move(path)), fd_(std::move(fd)), lasting_(true) {}

  std::filesystem::path path_;
  Fd fd_;
  bool lasting_ = false;
};

void remove_abandoned(const std::filesystem::path& asides) noexcept;
// Lasting ones that nobody is at, and nobody wrote to for so long; the bytes that became free.
std::uint64_t remove_lasting(const std::filesystem::path& directory, std::chrono::hours age) noexcept;

}  // namespace longship::store
