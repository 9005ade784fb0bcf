// SPDX-License-Identifier: Apache-2.0
#include "squashfs_path.h"

#include <sys/stat.h>

#include <climits>
#include <vector>

#include "names_ahead.h"

namespace longship::box {
namespace {

class Walk {
 public:
  explicit Walk(SquashFs& image) : image_(image) {}

  std::optional<FoundFile> to(std::string_view path) {
    FoundFile at;
    if (!get_inode(image_, sqfs_inode_root(image_.get()), at.inode)) return {};
    way_ = {at};
    NamesAhead ahead;
    walk_first(ahead, path);
    while (!ahead.empty())
      if (!step(next_name(ahead), ahead)) return {};
    return way_.back();
  }

 private:
  bool step(const std::string& name, NamesAhead& ahead) {
    if (name == "..") {
      if (way_.size() > 1) way_.pop_back();
      return true;
    }
    FoundFile next = {way_.back().path + "/" + name, {}};
    bool found = false;
    if (!look_up(image_, way_.back().inode, name, entry_, found) || !found ||
        !get_inode(image_, sqfs_dentry_inode(entry_.get()), next.inode))
      return false;
    if (!S_ISLNK(next.inode.base.mode)) {
      way_.push_back(std::move(next));
      return true;
    }
    char target[PATH_MAX];
    std::size_t size = sizeof target;
    if (++links_ > most_links || sqfs_readlink(image_.get(), &next.inode, target, &size) != SQFS_OK)
      return false;
    if (target[0] == '/') way_.resize(1);
    walk_first(ahead, target);
    return true;
  }

  SquashFs& image_;
  DirectoryEntry entry_;
  std::vector<FoundFile> way_;  // from the root on
  int links_ = 0;
};

}  // namespace

std::optional<FoundFile> find_file(SquashFs& image, std::string_view path) {
  return Walk(image).to(path);
}

}  // namespace longship::box
