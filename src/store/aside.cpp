// SPDX-License-Identifier: Apache-2.0
#include "aside.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/file.h"

namespace longship::store {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view directory_suffix = ".d";

bool lock(int fd) {
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0)
    if (errno != EINTR) return false;
  return true;
}

bool still_named(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && info.st_nlink > 0;
}

// Whether the name still leads to the open file.
bool is_at(int fd, const fs::path& path) {
  struct stat open {
  }, named{};
  return ::fstat(fd, &open) == 0 && ::lstat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

bool is_empty(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && info.st_size == 0;
}

fs::path directory_of(const fs::path& file) {
  return file.string() + std::string(directory_suffix);
}

}  // namespace

Aside::Aside(const fs::path& asides) {
  fs::create_directories(asides);
  remove_abandoned(asides);
  for (;;) {
    std::string name = (asides / "XXXXXX").string();
    fd_.reset(::mkostemp(name.data(), O_CLOEXEC));
    if (!fd_) throw Error::from_errno(errno, "cannot write in {}", asides.string());
    path_ = name;
    // Between the two calls somebody may have taken the file for an abandoned one.
    if (lock(fd_.get()) && still_named(fd_.get())) break;
  }
  failpoint("store.begun");
}

std::optional<Aside> Aside::lasting(const fs::path& path) {
  fs::create_directories(path.parent_path());
  for (;;) {
    Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd) throw Error::from_errno(errno, "cannot write {}", path.string());
    if (!lock(fd.get())) return std::nullopt;
    // Before the lock somebody may have removed it, or completed it and given it its name.
    if (is_at(fd.get(), path)) return Aside(path, std::move(fd));
  }
}

Aside::~Aside() {
  if (path_.empty() || (lasting_ && !is_empty(fd_.get()))) return;
  remove_tree(directory_of(path_));
  std::error_code ignored;
  fs::remove(path_, ignored);
}

fs::path Aside::directory() const {
  const auto made = directory_of(path_);
  fs::create_directories(made);
  return made;
}

void Aside::commit_as(const fs::path& path) {
  if (::fchmod(fd_.get(), 0644) != 0 || ::fsync(fd_.get()) != 0)
    throw Error::from_errno(errno, "cannot write {}", path.string());
  failpoint("store.synced");
  remove_tree(directory_of(path_));
  fs::create_directories(path.parent_path());
  if (::rename(path_.c_str(), path.c_str()) != 0)
    throw Error::from_errno(errno, "cannot write {}", path.string());
  failpoint("store.named");
  path_.clear();
  sync_directory(path.parent_path());
}

void remove_abandoned(const fs::path& asides) noexcept {
  std::error_code error;
  for (fs::directory_iterator at(asides, error), end; !error && at != end; at.increment(error)) {
    const fs::path file = at->path();
    if (file.extension() == directory_suffix) {
      if (!fs::exists(fs::path(file).replace_extension(), error)) remove_tree(file);
      continue;
    }
    const Fd fd(::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!fd || !lock(fd.get())) continue;
    remove_tree(directory_of(file));
    std::error_code ignored;
    fs::remove(file, ignored);
  }
}

std::uint64_t remove_lasting(const fs::path& directory, std::chrono::hours age) noexcept {
  std::uint64_t freed = 0;
  std::error_code error;
  const auto before = fs::file_time_type::clock::now() - age;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->last_write_time(ignored) > before || ignored) continue;
    const Fd fd(::open(at->path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!fd || !lock(fd.get()) || !is_at(fd.get(), at->path())) continue;
    const auto size = at->file_size(ignored);
    if (fs::remove(at->path(), ignored)) freed += size;
  }
  return freed;
}

}  // namespace longship::store
