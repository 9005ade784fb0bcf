// SPDX-License-Identifier: Apache-2.0
#include "tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "units.h"

namespace longship::formats {
namespace {

constexpr int deepest = 100;  // one descriptor per level is open

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

std::vector<std::string> names_in(int directory, const std::string& path) {
  // The duplicate is what closedir() closes; the position is shared, and the caller does not use it.
  const int duplicate = ::fcntl(directory, F_DUPFD_CLOEXEC, 0);
  if (duplicate < 0) throw Error::from_errno(errno, "cannot read {}", printable(path));
  const std::unique_ptr<DIR, CloseDirectory> stream(::fdopendir(duplicate));
  if (!stream) {
    ::close(duplicate);
    throw Error::from_errno(errno, "cannot read {}", printable(path));
  }
  ::rewinddir(stream.get());
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const auto* entry = ::readdir(stream.get());
    if (entry == nullptr && errno != 0) throw Error::from_errno(errno, "cannot read {}", printable(path));
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && name != ".git") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string target_of(int directory, const std::string& name, const std::string& path) {
  std::string target(4096, '\0');
  const auto size = ::readlinkat(directory, name.c_str(), target.data(), target.size());
  if (size < 0) throw Error::from_errno(errno, "cannot read the link {}", printable(path));
  target.resize(static_cast<std::size_t>(size));
  return target;
}

std::string_view special_name(mode_t mode) {
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

class Looker {
 public:
  Looker(const IgnoreList& ignored, std::uint64_t most) : ignored_(ignored), most_(most) {}

  void directory(int fd, const std::string& path, int depth) {
    if (depth > deepest) throw Error("{} is more than {} directories deep", printable(path), deepest);
    for (const auto& name : names_in(fd, path.empty() ? "." : path)) {
      if (!tree.complete) return;
      entry(fd, name, path.empty() ? name : path + "/" + name, depth);
    }
  }

  Tree tree;

 private:
  void entry(int parent, const std::string& name, std::string path, int depth) {
    struct stat status {};
    if (::fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) return;  // gone since its name was read
      throw Error::from_errno(errno, "cannot look at {}", printable(path));
    }
    if (ignored_.ignores(path, S_ISDIR(status.st_mode))) return;
    if (tree.members.size() == most_) {
      tree.complete = false;
      return;
    }
    add(parent, name, path, status);
    if (!S_ISDIR(status.st_mode)) return;
    const Fd inner(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!inner) throw Error::from_errno(errno, "cannot open {}", printable(path));
    directory(inner.get(), path, depth + 1);
  }

  void add(int parent, const std::string& name, const std::string& path, const struct stat& status) {
    Member member;
    member.name = path;
    if (S_ISREG(status.st_mode)) {
      member.size = static_cast<std::uint64_t>(status.st_size);
      member.executable = (status.st_mode & S_IXUSR) != 0;
      tree.bytes += member.size;
    } else if (S_ISDIR(status.st_mode)) {
      member.kind = Member::Kind::directory;
    } else if (S_ISLNK(status.st_mode)) {
      member.kind = Member::Kind::link;
      member.target = target_of(parent, name, path);
      check_link(path, member.target);
    } else {
      throw Error("{} is {}, which cannot be carried: remove it or list it in .longshipignore",
                  printable(path), special_name(status.st_mode));
    }
    tree.members.push_back(std::move(member));
  }

  const IgnoreList& ignored_;
  std::uint64_t most_;
};

// A directory with what is beneath it added up.
struct Sum {
  std::uint64_t bytes = 0, entries = 0;
  bool is_directory = false;
  std::map<std::string, Sum> inside;
  [[nodiscard]] std::uint64_t weight(Weight by) const { return by == Weight::bytes ? bytes : entries; }
};

Sum sum_of(const Tree& tree) {
  Sum root;
  for (const auto& member : tree.members) {
    auto* at = &root;
    for (const auto part : split(member.name, '/')) {
      at = &at->inside[std::string(part)];
      at->bytes += member.size;
      at->entries += 1;
    }
    at->is_directory = member.kind == Member::Kind::directory;
  }
  return root;
}

using Weighed = std::vector<std::pair<std::string, const Sum*>>;

void weigh(const Sum& sum, const std::string& path, Weight by, Weighed& weighed) {
  for (const auto& [name, child] : sum.inside) {
    const auto whole = path + name + (child.is_directory ? "/" : "");
    const bool one_is_most =
        std::any_of(child.inside.begin(), child.inside.end(), [&, &all = child](const auto& grandchild) {
          return grandchild.second.weight(by) > all.weight(by) / 2;
        });
    if (one_is_most)
      weigh(child, whole, by, weighed);
    else
      weighed.emplace_back(whole, &child);
  }
}

}  // namespace

Tree look_through(int directory, const IgnoreList& ignored, std::uint64_t most_entries) {
  Looker looker(ignored, most_entries);
  looker.directory(directory, "", 0);
  return std::move(looker.tree);
}

std::string largest(const Tree& tree, Weight weight, std::size_t count) {
  const auto root = sum_of(tree);
  Weighed weighed;
  weigh(root, "", weight, weighed);
  std::stable_sort(weighed.begin(), weighed.end(), [&](const auto& a, const auto& b) {
    return a.second->weight(weight) > b.second->weight(weight);
  });
  std::string lines;
  for (std::size_t i = 0; i < std::min(count, weighed.size()); ++i) {
    const auto& [name, sum] = weighed[i];
    const auto amount =
        weight == Weight::bytes ? human_bytes(sum->bytes) : fmt::format("{} entries", sum->entries);
    lines += fmt::format("\n  {:>8}  {}", amount, printable(name));
  }
  return lines;
}

}  // namespace longship::formats
