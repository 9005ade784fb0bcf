// SPDX-License-Identifier: Apache-2.0
#include "file_tree.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/error.h"
#include "base/fd.h"
#include "base/file.h"

namespace longship::fit {
namespace fs = std::filesystem;
namespace {

constexpr int most_links = 40;  // as the kernel has it

}  // namespace

MappedFile::MappedFile(const fs::path& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about = {};
  if (!file || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode) || about.st_size == 0) return;
  const auto size = static_cast<std::size_t>(about.st_size);
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (at == MAP_FAILED) return;
  at_ = at;
  size_ = size;
}

MappedFile::~MappedFile() {
  if (at_ != nullptr) ::munmap(at_, size_);
}

std::optional<fs::path> FileTree::real(const fs::path& path) const {
  fs::path done = "/";
  std::vector<fs::path> rest(path.begin(), path.end());
  std::reverse(rest.begin(), rest.end());
  for (int links = 0; !rest.empty();) {
    const auto part = rest.back();
    rest.pop_back();
    if (part.empty() || part == "/" || part == ".") continue;
    if (part == "..") {
      done = done.parent_path();
      continue;
    }
    const auto next = done / part;
    std::error_code failed;
    const auto kind = fs::symlink_status(outside(next), failed).type();
    if (failed || kind == fs::file_type::not_found) return {};
    if (kind != fs::file_type::symlink) {
      done = next;
      continue;
    }
    if (++links > most_links) return {};
    const auto target = fs::read_symlink(outside(next), failed);
    if (failed) return {};
    if (target.is_absolute()) done = "/";
    const std::vector<fs::path> parts(target.begin(), target.end());
    rest.insert(rest.end(), parts.rbegin(), parts.rend());
  }
  return done;
}

std::vector<std::string> FileTree::names_in(const fs::path& directory) const {
  std::vector<std::string> names;
  const auto there = real(directory);
  std::error_code failed;
  if (there)
    for (fs::directory_iterator at(outside(*there), failed), end; !failed && at != end; at.increment(failed))
      names.push_back(at->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

bool FileTree::is_directory(const fs::path& path) const {
  const auto there = real(path);
  std::error_code failed;
  return there && fs::is_directory(outside(*there), failed);
}

std::string FileTree::text(const fs::path& path) const {
  try {
    const auto there = real(path);
    return there ? read_file(outside(*there), 65536) : std::string();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace longship::fit
