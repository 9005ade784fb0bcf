// SPDX-License-Identifier: Apache-2.0
#include "outputs.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "formats/ignore.h"

namespace longship::pilot {
namespace fs = std::filesystem;
namespace {

class Keeper {
 public:
  Keeper(std::span<const std::string> names, fs::path into) : into_(std::move(into)) {
    // The same patterns as in an ignore file, but a name without a slash means the one at the top.
    for (const auto& name : names) wanted_.add_pattern(name.starts_with('/') ? name : "/" + name);
  }

  // Goes through an opened directory; `all`: one above it was asked for.
  void visit(Fd directory, const std::string& prefix, bool all) {
    const int fd = directory.get();
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(directory.release()), ::closedir);
    if (!listing) throw Error::from_errno(errno, "cannot list {}", printable(prefix));
    while (const dirent* entry = ::readdir(listing.get())) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") consider(fd, name, prefix + name, all);
    }
  }

  std::vector<Output> kept;

 private:
  void consider(int directory, const std::string& name, const std::string& path, bool all) {
    struct stat about {};
    if (::fstatat(directory, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) return;  // gone meanwhile
    const bool is_directory = S_ISDIR(about.st_mode);
    const bool wanted = all || wanted_.ignores(path, is_directory);
    if (is_directory) {
      Fd below(::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (below) visit(std::move(below), path + "/", wanted);
    } else if (wanted && S_ISREG(about.st_mode)) {
      within(fmt::format("cannot keep {}", printable(path)), [&] { take(directory, name, path); });
      kept.push_back({path, static_cast<std::uint64_t>(about.st_size)});
    } else if (wanted) {
      warn("output {} is not kept: it is not a regular file", printable(path));
    }
  }

  void take(int directory, const std::string& name, const std::string& path) {
    const Fd file(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file) throw Error::from_errno(errno, "it cannot be opened");
    if (::fsync(file.get()) != 0) throw Error::from_errno(errno, "it cannot be written to disk");
    const fs::path target = into_ / path;
    fs::create_directories(target.parent_path());
    if (::renameat2(directory, name.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) == 0) return;
    if (errno == EEXIST) throw Error("{} is there already, and is Longship's own", target.string());
    throw Error::from_errno(errno, "it cannot be moved to {}", target.string());
  }

  formats::IgnoreList wanted_;
  fs::path into_;
};

bool is_pattern(std::string_view name) {
  return name.find_first_of("*?[") != std::string_view::npos;
}

bool covers(std::string_view name, std::string_view path) {
  while (name.ends_with('/')) name.remove_suffix(1);
  return path.starts_with(name) && (path.size() == name.size() || path[name.size()] == '/');
}

}  // namespace

Kept keep_outputs(const fs::path& work, std::span<const std::string> names, const fs::path& into) {
  Kept result;
  if (names.empty()) return result;
  Keeper keeper(names, into);
  keeper.visit(open_file(work, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), "", false);
  result.outputs = std::move(keeper.kept);
  std::sort(result.outputs.begin(), result.outputs.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  if (!result.outputs.empty()) sync_directory(into);
  for (const auto& name : names) {
    const auto found = [&](const Output& output) { return covers(name, output.name); };
    if (!is_pattern(name) && std::none_of(result.outputs.begin(), result.outputs.end(), found))
      result.missing.push_back(name);
  }
  return result;
}

}  // namespace longship::pilot
