// SPDX-License-Identifier: Apache-2.0
// Answers about names and what they stand for: everything but the contents of files.
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <vector>

#include "fuse_answers.h"
#include "fuse_subject.h"

namespace longship::box {
namespace {

// Fills one answer with names. Offsets: 1 is after ".", 2 after "..", then SquashFS's own and 2 more.
class Listing {
 public:
  Listing(fuse_req_t request, std::size_t size) : request_(request), room_(size) {}
  bool add(const char* name, ino_t inode, mode_t mode, off_t next) {
    struct stat about = {};
    about.st_ino = inode;
    about.st_mode = mode;
    const std::size_t needed = fuse_add_direntry(request_, nullptr, 0, name, &about, next);
    if (bytes_.size() + needed > room_) return false;
    const std::size_t at = bytes_.size();
    bytes_.resize(at + needed);
    fuse_add_direntry(request_, bytes_.data() + at, needed, name, &about, next);
    return true;
  }
  void send() { fuse_reply_buf(request_, bytes_.data(), bytes_.size()); }

 private:
  fuse_req_t request_;
  std::size_t room_;
  std::vector<char> bytes_;
};

}  // namespace

void on_lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  Subject directory(request, parent);
  if (!directory) return;
  DirectoryEntry& entry = directory.reading->entry;
  bool found = false;
  if (!look_up(directory.reading->image, directory.inode, name, entry, found)) {
    fuse_reply_err(request, S_ISDIR(directory.inode.base.mode) ? EIO : ENOTDIR);
    return;
  }
  fuse_entry_param answer = {};
  answer.attr_timeout = answer.entry_timeout = for_ever;
  if (found) {
    sqfs_inode inode = {};
    if (!get_inode(directory.reading->image, sqfs_dentry_inode(entry.get()), inode)) {
      fuse_reply_err(request, EIO);
      return;
    }
    answer.ino = number_of(directory.fs(), sqfs_dentry_inode(entry.get()));
    answer.attr = attributes(inode, directory.server.owner);
  }  // number 0: not there, and that too may be remembered
  fuse_reply_entry(request, &answer);
}

void on_getattr(fuse_req_t request, fuse_ino_t number, fuse_file_info*) {
  Subject file(request, number);
  if (!file) return;
  const struct stat about = attributes(file.inode, file.server.owner);
  fuse_reply_attr(request, &about, for_ever);
}

void on_readlink(fuse_req_t request, fuse_ino_t number) {
  Subject link(request, number);
  if (!link) return;
  char target[PATH_MAX];
  std::size_t size = sizeof target;
  if (sqfs_readlink(link.fs(), &link.inode, target, &size) == SQFS_OK)
    fuse_reply_readlink(request, target);
  else
    fuse_reply_err(request, EIO);
}

void on_opendir(fuse_req_t request, fuse_ino_t, fuse_file_info* directory) {
  if (server_of(request).refuses_opendir)
    fuse_reply_err(request, ENOSYS);
  else
    fuse_reply_open(request, directory);
}

void on_readdir(fuse_req_t request, fuse_ino_t number, std::size_t size, off_t offset, fuse_file_info*) {
  Subject directory(request, number);
  if (!directory) return;
  Listing listing(request, size);
  const ino_t inode = directory.inode.base.inode_number;
  bool fits = true;
  if (offset < 1) fits = listing.add(".", inode, S_IFDIR, 1);
  if (fits && offset < 2) fits = listing.add("..", directory.inode.xtra.dir.parent_inode, S_IFDIR, 2);
  sqfs_dir walk;
  if (!open_directory(directory.reading->image, directory.inode, std::max<off_t>(offset - 2, 0), walk)) {
    fuse_reply_err(request, ENOTDIR);
    return;
  }
  sqfs_dir_entry* entry = directory.reading->entry.get();
  sqfs_err problem = SQFS_OK;
  while (fits && sqfs_dir_next(directory.fs(), &walk, entry, &problem))
    fits = listing.add(sqfs_dentry_name(entry), sqfs_dentry_inode_num(entry), sqfs_dentry_mode(entry),
                       sqfs_dentry_next_offset(entry) + 2);
  if (problem == SQFS_OK)
    listing.send();
  else
    fuse_reply_err(request, EIO);
}

void on_statfs(fuse_req_t request, fuse_ino_t number) {
  const Subject file(request, number);
  if (!file) return;
  const auto& super = file.fs()->sb;
  struct statvfs about = {};
  about.f_bsize = about.f_frsize = super.block_size;
  about.f_blocks = (super.bytes_used + super.block_size - 1) / super.block_size;
  about.f_files = super.inodes;
  about.f_namemax = SQUASHFS_NAME_LEN;
  fuse_reply_statfs(request, &about);
}

}  // namespace longship::box
