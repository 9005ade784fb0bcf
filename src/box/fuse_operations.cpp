// SPDX-License-Identifier: Apache-2.0
#include "fuse_operations.h"

#include <malloc.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <vector>

#include "checked_squashfs.h"
#include "fuse_crew.h"
#include "fuse_push.h"
#include "give_back.h"

#define FUSE_USE_VERSION_WANTED 34
#undef FUSE_USE_VERSION
#define FUSE_USE_VERSION FUSE_USE_VERSION_WANTED
#include <fuse3/fuse_lowlevel.h>

namespace longship::box {
namespace {

constexpr double for_ever = 1e9;  // seconds

struct Server {
  int image;
  Owner owner;
  // Whether the kernel takes "not implemented" for an answer, and opens by itself from then on: files since
  // Linux 3.15, directories since 5.1. An older one would hand the error to the program.
  bool refuses_open = false, refuses_opendir = false;
  FusePush* push = nullptr;
};

// Each thread reads the image through caches of its own.
struct Reading {
  std::optional<SquashFs> image;
  std::optional<DirectoryEntry> entry;
  std::vector<char> buffer;
};
thread_local Reading reading;

// Null if it cannot be read any more.
sqfs* reader(const Server& server) noexcept {
  try {
    if (!reading.entry) reading.entry.emplace();
    if (!reading.image) reading.image.emplace(server.image, "");
    return reading.image->get();
  } catch (const std::exception&) {
    return nullptr;
  }
}

const Server& server_of(fuse_req_t request) {
  return *static_cast<const Server*>(fuse_req_userdata(request));
}

// FUSE's number for a file is where its inode lies, so nothing has to be remembered. Only 1 is taken, for the
// root.
sqfs_inode_id place_of(sqfs* fs, fuse_ino_t number) {
  return number == FUSE_ROOT_ID ? sqfs_inode_root(fs) : number - 2;
}
fuse_ino_t number_of(sqfs* fs, sqfs_inode_id place) {
  return place == sqfs_inode_root(fs) ? FUSE_ROOT_ID : place + 2;
}

struct stat attributes(sqfs_inode& inode, const Owner& owner) {
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

// A request's file; answers the request itself if there is none.
class Subject {
 public:
  Subject(fuse_req_t request, fuse_ino_t number) : server(server_of(request)), fs(reader(server)) {
    found = fs != nullptr && get_inode(*reading.image, place_of(fs, number), inode);
    if (!found) fuse_reply_err(request, EIO);
  }
  explicit operator bool() const { return found; }

  const Server& server;
  sqfs* fs;
  sqfs_inode inode = {};

 private:
  bool found = false;
};

// LONGSHIP_FUSE=old: as if the kernel could do none of it, for its test.
bool as_if_old() {
  const char* word = std::getenv("LONGSHIP_FUSE");
  return word != nullptr && std::strcmp(word, "old") == 0;
}

void on_init(void* data, fuse_conn_info* connection) {
  auto& server = *static_cast<Server*>(data);
  server.refuses_open = !as_if_old() && (connection->capable & FUSE_CAP_NO_OPEN_SUPPORT) != 0;
  server.refuses_opendir = !as_if_old() && (connection->capable & FUSE_CAP_NO_OPENDIR_SUPPORT) != 0;
  const unsigned splices = FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE;
  connection->want &= ~(splices | FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_READDIRPLUS);
  connection->want |= connection->capable &
                      (FUSE_CAP_NO_OPEN_SUPPORT | FUSE_CAP_NO_OPENDIR_SUPPORT | FUSE_CAP_CACHE_SYMLINKS |
                       FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_ASYNC_READ | FUSE_CAP_EXPLICIT_INVAL_DATA);
}

void on_lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  Subject directory(request, parent);
  if (!directory) return;
  DirectoryEntry& entry = *reading.entry;
  bool found = false;
  if (!look_up(*reading.image, directory.inode, name, entry, found)) {
    fuse_reply_err(request, S_ISDIR(directory.inode.base.mode) ? EIO : ENOTDIR);
    return;
  }
  fuse_entry_param answer = {};
  answer.attr_timeout = answer.entry_timeout = for_ever;
  if (found) {
    sqfs_inode inode = {};
    if (!get_inode(*reading.image, sqfs_dentry_inode(entry.get()), inode)) {
      fuse_reply_err(request, EIO);
      return;
    }
    answer.ino = number_of(directory.fs, sqfs_dentry_inode(entry.get()));
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
  if (sqfs_readlink(link.fs, &link.inode, target, &size) == SQFS_OK)
    fuse_reply_readlink(request, target);
  else
    fuse_reply_err(request, EIO);
}

void on_open(fuse_req_t request, fuse_ino_t, fuse_file_info* file) {
  if (server_of(request).refuses_open) {
    fuse_reply_err(request, ENOSYS);
    return;
  }
  file->keep_cache = 1;
  fuse_reply_open(request, file);
}

void on_opendir(fuse_req_t request, fuse_ino_t, fuse_file_info* directory) {
  if (server_of(request).refuses_opendir)
    fuse_reply_err(request, ENOSYS);
  else
    fuse_reply_open(request, directory);
}

void give_part(Subject& file, fuse_ino_t number, std::uint64_t from, std::uint64_t to) {
  std::vector<char> bytes(static_cast<std::size_t>(to - from));
  std::size_t count = bytes.size();
  if (read_content(*reading.image, file.inode, from, bytes.data(), count) && count == bytes.size())
    file.server.push->give(number, from, std::move(bytes));
}

// Of the blocks that a read began and ended in, what it did not ask for; whole pages, as the kernel keeps
// them.
void give_rest(Subject& file, fuse_ino_t number, std::uint64_t begin, std::uint64_t end) {
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t block = file.fs->sb.block_size, size = file.inode.xtra.reg.file_size;
  if (begin >= end || begin % page != 0 || (end % page != 0 && end != size)) return;
  const std::uint64_t first = begin / block * block, last = std::min(size, (end + block - 1) / block * block);
  if (end < last && file.server.push->wants(number, end)) give_part(file, number, end, last);
  if (first < begin && file.server.push->wants(number, first)) give_part(file, number, first, begin);
}

void on_read(fuse_req_t request, fuse_ino_t number, std::size_t size, off_t offset, fuse_file_info*) {
  Subject file(request, number);
  if (!file) return;
  auto& buffer = reading.buffer;
  if (buffer.size() < size) buffer.resize(size);
  const auto begin = static_cast<std::uint64_t>(offset);
  if (!read_content(*reading.image, file.inode, begin, buffer.data(), size)) {
    fuse_reply_err(request, EIO);
    return;
  }
  fuse_reply_buf(request, buffer.data(), size);
  try {
    give_rest(file, number, begin, begin + size);
  } catch (const std::bad_alloc&) {  // then the kernel has to ask
  }
}

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

void on_readdir(fuse_req_t request, fuse_ino_t number, std::size_t size, off_t offset, fuse_file_info*) {
  Subject directory(request, number);
  if (!directory) return;
  Listing listing(request, size);
  const ino_t inode = directory.inode.base.inode_number;
  bool fits = true;
  if (offset < 1) fits = listing.add(".", inode, S_IFDIR, 1);
  if (fits && offset < 2) fits = listing.add("..", directory.inode.xtra.dir.parent_inode, S_IFDIR, 2);
  sqfs_dir walk;
  if (!open_directory(*reading.image, directory.inode, std::max<off_t>(offset - 2, 0), walk)) {
    fuse_reply_err(request, ENOTDIR);
    return;
  }
  sqfs_dir_entry* entry = reading.entry->get();
  sqfs_err problem = SQFS_OK;
  while (fits && sqfs_dir_next(directory.fs, &walk, entry, &problem))
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
  const auto& super = file.fs->sb;
  struct statvfs about = {};
  about.f_bsize = about.f_frsize = super.block_size;
  about.f_blocks = (super.bytes_used + super.block_size - 1) / super.block_size;
  about.f_files = super.inodes;
  about.f_namemax = SQUASHFS_NAME_LEN;
  fuse_reply_statfs(request, &about);
}

// Operations that are not here, such as flush and getxattr, libfuse answers with ENOSYS by itself.
constexpr fuse_lowlevel_ops operations() {
  fuse_lowlevel_ops table = {};
  table.init = on_init;
  table.lookup = on_lookup;
  table.getattr = on_getattr;
  table.readlink = on_readlink;
  table.open = on_open;
  table.opendir = on_opendir;
  table.read = on_read;
  table.readdir = on_readdir;
  table.statfs = on_statfs;
  return table;
}

// Blocks come and go: their pages are kept instead of faulted in again. One heap for all threads: they
// seldom ask for memory at the same time.
void use_little_memory() {
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_MMAP_THRESHOLD, 8 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 8 << 20);
  ::mallopt(M_TOP_PAD, 1 << 20);
}

// A job reads its programs in the beginning: what was needed for that need not stay beside it.
void rest() {
  reading.image.reset();
  reading.entry.reset();
  std::vector<char>().swap(reading.buffer);
  give_back_memory();
}

}  // namespace

void answer_requests(Fd mount, int image, const Owner& owner) {
  use_little_memory();
  Server server = {image, owner};
  char name[] = "longship";
  char* words[] = {name, nullptr};
  fuse_args arguments = FUSE_ARGS_INIT(1, words);
  static const fuse_lowlevel_ops table = operations();
  fuse_session* session = fuse_session_new(&arguments, &table, sizeof table, &server);
  if (session == nullptr) return;
  // libfuse takes a mount that somebody else has made under this name, and closes the descriptor in the end.
  const std::string place = "/dev/fd/" + std::to_string(mount.release());
  {
    FusePush push(session);
    server.push = &push;
    (void)reader(server);  // now, and not while somebody waits for the first answer
    if (fuse_session_mount(session, place.c_str()) == 0) answer_by_crew(session, rest);
  }
  fuse_session_destroy(session);
}

}  // namespace longship::box
