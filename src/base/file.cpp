// SPDX-License-Identifier: Apache-2.0
#include "file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <random>

#include "error.h"
#include "text.h"

namespace longship {
namespace fs = std::filesystem;
namespace {

std::string random_suffix() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

fs::path directory_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// The name aside is nobody's business: what is missing, or forbidden, is the directory.
Fd open_aside(const fs::path& aside, unsigned mode) {
  Fd fd(::open(aside.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!fd) throw Error::from_errno(errno, "cannot make a file in {}", directory_of(aside).string());
  return fd;
}

// A directory that its owner may not write cannot be emptied; one that was packed read-only is not precious
// for that.
void make_writable(const fs::path& path) {
  std::error_code ignored;
  for (fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, ignored), end;
       at != end; at.increment(ignored)) {
    if (ignored) return;
    if (at->symlink_status(ignored).type() == fs::file_type::directory) {
      fs::permissions(at->path(), fs::perms::owner_all, fs::perm_options::add, ignored);
    }
  }
}

}  // namespace

Fd open_file(const fs::path& path, int flags, unsigned mode) {
  Fd fd(::open(path.c_str(), flags | O_CLOEXEC, mode));
  if (!fd) throw Error::from_errno(errno, "cannot open {}", path.string());
  return fd;
}

std::string read_file(const fs::path& path, std::size_t limit) {
  const Fd fd = open_file(path, O_RDONLY);
  std::string bytes;
  std::size_t size = 0;
  for (;;) {
    bytes.resize(size + std::max<std::size_t>(size, 16384));
    const auto got = ::read(fd.get(), bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error::from_errno(errno, "cannot read {}", path.string());
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
    if (size > limit)
      throw Error(Failure::usage, "{} is larger than {} bytes, which is more than is expected here",
                  path.string(), limit);
  }
  bytes.resize(size);
  return bytes;
}

std::string read_part(const fs::path& path, std::uint64_t from, std::size_t most) {
  const Fd fd = open_file(path, O_RDONLY);
  std::string bytes(most, '\0');
  std::size_t size = 0;
  while (size < most) {
    const auto got = ::pread(fd.get(), bytes.data() + size, most - size, static_cast<off_t>(from + size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error::from_errno(errno, "cannot read {}", path.string());
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  bytes.resize(size);
  return bytes;
}

std::string last_line_of(const fs::path& path, std::uint64_t from) {
  constexpr std::uint64_t enough = 4096;
  const auto size = size_if_there(path);
  if (size <= from) return {};
  const auto text = read_part(path, std::max(from, size - std::min(size, enough)), enough);
  return std::string(split(trim(text), '\n').back());
}

std::uint64_t size_if_there(const fs::path& path) {
  std::error_code missing;
  const auto size = fs::file_size(path, missing);
  return missing ? 0 : size;
}

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw Error::from_errno(errno, "cannot write");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void write_file(const fs::path& path, std::string_view bytes, unsigned mode) {
  within(fmt::format("cannot write {}", path.string()), [&] {
    PendingFile file(path, mode);
    write_all(file.fd(), bytes);
    file.commit();
  });
}

PendingFile::PendingFile(fs::path path, unsigned mode)
    : path_(std::move(path)),
      aside_(directory_of(path_) / fmt::format(".{}.{}.aside", path_.filename().string(), random_suffix())),
      fd_(open_aside(aside_, mode)) {}

PendingFile::~PendingFile() {
  if (fd_) ::unlink(aside_.c_str());
}

void PendingFile::commit() {
  commit_as(path_);
}

void PendingFile::commit_as(const fs::path& path) {
  if (::fsync(fd_.get()) != 0) throw Error::from_errno(errno, "cannot sync {}", path.string());
  if (::rename(aside_.c_str(), path.c_str()) != 0) {
    throw Error::from_errno(errno, "cannot put {} in its place", path.string());
  }
  fd_.reset();
  sync_directory(directory_of(path));
}

void sync_directory(const fs::path& directory) {
  const Fd fd = open_file(directory, O_RDONLY | O_DIRECTORY);
  // Some network file systems cannot sync a directory and say EINVAL; there the rename is as durable as it
  // gets.
  if (::fsync(fd.get()) != 0 && errno != EINVAL)
    throw Error::from_errno(errno, "cannot sync {}", directory.string());
}

TemporaryDirectory::TemporaryDirectory(std::string_view prefix, const fs::path& parent) {
  const char* wanted = std::getenv("TMPDIR");
  const fs::path where = !parent.empty() ? parent : wanted != nullptr && *wanted != '\0' ? wanted : "/tmp";
  std::string name = (where / fmt::format("{}-XXXXXX", prefix)).string();
  if (::mkdtemp(name.data()) == nullptr)
    throw Error::from_errno(errno, "cannot make a directory in {}", where.string());
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  if (!path_.empty()) remove_tree(path_);
}

fs::path TemporaryDirectory::keep() {
  return std::exchange(path_, {});
}

bool remove_tree(const fs::path& path) noexcept {
  try {
    std::error_code failed;
    fs::remove_all(path, failed);
    if (!failed) return true;
    make_writable(path);
    fs::remove_all(path, failed);
    return !failed;
  } catch (...) {
    return false;
  }
}

}  // namespace longship
