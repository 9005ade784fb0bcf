// SPDX-License-Identifier: Apache-2.0
#include "fuse_subject.h"

#include <cerrno>
#include <exception>
#include <optional>

namespace longship::box {
namespace {

thread_local std::optional<Reading> reading_here;

sqfs_inode_id place_of(sqfs* fs, fuse_ino_t number) {
  return number == FUSE_ROOT_ID ? sqfs_inode_root(fs) : number - 2;
}

}  // namespace

const Server& server_of(fuse_req_t request) {
  return *static_cast<const Server*>(fuse_req_userdata(request));
}

Reading* this_threads_reading(const Server& server) noexcept {
  try {
    if (!reading_here) reading_here.emplace(server);
    return &*reading_here;
  } catch (const std::exception&) {
    return nullptr;
  }
}

void end_this_threads_reading() {
  reading_here.reset();
}

fuse_ino_t number_of(sqfs* fs, sqfs_inode_id place) {
  return place == sqfs_inode_root(fs) ? FUSE_ROOT_ID : place + 2;
}

struct stat attributes(const sqfs_inode& inode, const Owner& owner) {
  struct stat about = {};
  about.st_ino = inode.base.inode_number;
  about.st_mode = inode.base.mode;
  about.st_nlink = static_cast<nlink_t>(inode.nlink);
  about.st_uid = owner.user;
  about.st_gid = owner.group;
  about.st_mtime = about.st_ctime = about.st_atime = static_cast<time_t>(inode.base.mtime);
  about.st_blksize = 128 << 10;
  if (S_ISREG(about.st_mode)) about.st_size = static_cast<off_t>(inode.xtra.reg.file_size);
  if (S_ISLNK(about.st_mode)) about.st_size = static_cast<off_t>(inode.xtra.symlink_size);
  if (S_ISDIR(about.st_mode)) about.st_size = inode.xtra.dir.dir_size;
  about.st_blocks = (about.st_size + 511) / 512;
  return about;
}

Subject::Subject(fuse_req_t request, fuse_ino_t number)
    : server(server_of(request)), reading(this_threads_reading(server)) {
  found_ = reading != nullptr && get_inode(reading->image, place_of(fs(), number), inode);
  if (!found_) fuse_reply_err(request, EIO);
}

}  // namespace longship::box
