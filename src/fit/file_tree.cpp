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
  return resolve("/" / path.relative_path(), 0);
}

// The directory first, which is the same for many, then the last part.
std::optional<fs::path> FileTree::resolve(const fs::path& path, int links) const {
  if (!path.has_relative_path()) return "/";
  auto parent = resolve_directory(path.parent_path(), links);
  const auto name = path.filename();
  if (!parent || name.empty() || name == ".") return parent;
  if (name == "..") return parent->parent_path();
  auto next = *parent / name;
  std::error_code failed;
  const auto kind = fs::symlink_status(outside(next), failed).type();
  if (failed || kind == fs::file_type::not_found) return {};
  if (kind != fs::file_type::symlink) return next;
  if (links >= most_links) return {};
  const auto target = fs::read_symlink(outside(next), failed);
  if (failed) return {};
  return resolve(target.is_absolute() ? target : *parent / target, links + 1);
}

std::optional<fs::path> FileTree::resolve_directory(const fs::path& path, int links) const {
  const auto known = directories_.find(path.native());
  if (known != directories_.end()) return known->second;
  auto found = resolve(path, links);
  if (links == 0) directories_.emplace(path.native(), found);  // else it may only have been too many links
  return found;
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
