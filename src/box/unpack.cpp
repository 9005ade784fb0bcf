// SPDX-License-Identifier: Apache-2.0
#include "unpack.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/lock_file.h"
#include "base/say.h"
#include "base/text.h"
#include "checked_squashfs.h"

namespace longship::box {
namespace fs = std::filesystem;
namespace {

// What somebody else's image may ask for: more is a lie, or meant to fill the disk.
constexpr std::uint64_t most_names = 10'000'000;
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;

// What tells one image file from another without reading it whole.
std::string identity(int image) {
  struct stat about = {};
  if (::fstat(image, &about) != 0) throw Error::from_errno(errno, "cannot look at the image");
  return fmt::format("{:x}-{:x}-{:x}.{:09}", about.st_ino, about.st_size, about.st_mtim.tv_sec,
                     about.st_mtim.tv_nsec);
}

class Unpacker {
 public:
  Unpacker(SquashFs& source, int directory)
      : fs_(source), tree_(directory), seen_{sqfs_inode_root(source.get())} {}

  // Not by recursion: it is the image that says how deep it is.
  void all() {
    left_ = {{sqfs_inode_root(fs_.get()), ""}};
    while (!left_.empty()) {
      const auto [id, at] = std::move(left_.back());
      left_.pop_back();
      directory(id, at);
    }
    finish_directories();
  }

 private:
  struct Left {
    sqfs_inode_id id;
    std::string path;
  };
  struct Made {
    std::string path;
    mode_t mode;
    time_t modified;
  };

  void directory(sqfs_inode_id id, const std::string& at) {
    sqfs_inode inode = {};
    check(get_inode(fs_, id, inode), at);
    sqfs_dir walk;
    check(open_directory(fs_, inode, 0, walk), at);
    sqfs_err problem = SQFS_OK;
    while (sqfs_dir_next(fs_.get(), &walk, entry_.get(), &problem)) {
      const std::string name = sqfs_dentry_name(entry_.get());
      if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
        throw Error("\"{}\" in /{} is no name for a file: the image is damaged", printable(name),
                    printable(at));
      if (++names_ > most_names) throw Error("it has more than {} names", most_names);
      member(sqfs_dentry_inode(entry_.get()), at.empty() ? name : at + "/" + name);
    }
    check(problem == SQFS_OK, at);
  }

  // Directories are writable until they are full; their own modes come last, the inner ones first.
  void finish_directories() {
    for (auto made = directories_.rbegin(); made != directories_.rend(); ++made) {
      set_time(made->path, made->modified);
      if (::fchmodat(tree_, made->path.c_str(), made->mode | S_IRWXU, 0) != 0) fail(made->path);
    }
  }

  void check(bool good, const std::string& at) const {
    if (!good) throw Error("/{}: the image is damaged", printable(at));
  }
  [[noreturn]] void fail(const std::string& at) const {
    throw Error::from_errno(errno, "cannot write /{}", printable(at));
  }

  void set_time(const std::string& at, time_t modified) const {
    const timespec times[2] = {{modified, 0}, {modified, 0}};
    ::utimensat(tree_, at.c_str(), times, AT_SYMLINK_NOFOLLOW);
  }

  void member(sqfs_inode_id id, const std::string& at) {
    sqfs_inode inode = {};
    check(get_inode(fs_, id, inode), at);
    const mode_t mode = inode.base.mode & 0777;  // set-user-id would be the caller's own id: of no use
    const auto modified = static_cast<time_t>(inode.base.mtime);
    switch (inode.base.mode & S_IFMT) {
      case S_IFDIR:
        if (!seen_.insert(id).second) throw Error("/{} lies in itself: the image is damaged", printable(at));
        if (::mkdirat(tree_, at.c_str(), 0700) != 0) fail(at);
        directories_.push_back({at, mode, modified});
        left_.push_back({id, at});
        break;
      case S_IFREG:
        if (linked(inode, at)) break;
        file(inode, at, mode);
        set_time(at, modified);
        break;
      case S_IFLNK:
        link(inode, at);
        set_time(at, modified);
        break;
      default:
        break;  // devices, pipes and sockets of the image: the box has the host's
    }
  }

  bool linked(const sqfs_inode& inode, const std::string& at) {
    if (inode.nlink < 2) return false;
    const auto [first, is_new] = first_names_.emplace(inode.base.inode_number, at);
    if (is_new) return false;
    if (::linkat(tree_, first->second.c_str(), tree_, at.c_str(), 0) != 0) fail(at);
    return true;
  }

  void link(sqfs_inode& inode, const std::string& at) {
    char target[PATH_MAX];
    std::size_t size = sizeof target;
    check(sqfs_readlink(fs_.get(), &inode, target, &size) == SQFS_OK, at);
    if (::symlinkat(target, tree_, at.c_str()) != 0) fail(at);
  }

  void file(sqfs_inode& inode, const std::string& at, mode_t mode) {
    const Fd out(::openat(tree_, at.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!out) fail(at);
    if (inode.xtra.reg.file_size > most_bytes - bytes_)
      throw Error("/{}: it unpacks to more than {} bytes", printable(at), most_bytes);
    bytes_ += inode.xtra.reg.file_size;
    const std::uint64_t size = inode.xtra.reg.file_size;
    for (std::uint64_t done = 0; done < size;) {
      std::size_t part = buffer_.size();
      check(read_content(fs_, inode, done, buffer_.data(), part), at);
      put(out.get(), {buffer_.data(), part}, at);
      done += part;
    }
    if (::ftruncate(out.get(), static_cast<off_t>(size)) != 0 || ::fchmod(out.get(), mode | S_IRUSR) != 0)
      fail(at);
  }

  // Holes stay holes: a few bytes of an image can stand for terabytes of zeros.
  void put(int out, std::string_view bytes, const std::string& at) const {
    if (bytes.find_first_not_of('\0') != std::string_view::npos)
      within("/" + printable(at), [&] { write_all(out, bytes); });
    else if (::lseek(out, static_cast<off_t>(bytes.size()), SEEK_CUR) < 0)
      fail(at);
  }

  SquashFs& fs_;
  int tree_;
  DirectoryEntry entry_;
  std::vector<char> buffer_ = std::vector<char>(1 << 20);
  std::vector<Left> left_;
  std::vector<Made> directories_;
  std::map<sqfs_inode_num, std::string> first_names_;
  std::set<sqfs_inode_id> seen_;  // directories, which have one name each
  std::uint64_t names_ = 0, bytes_ = 0;
};

}  // namespace

void unpack(int image, const fs::path& name, int directory) {
  SquashFs source(image, name);
  within(fmt::format("cannot unpack {}", name.string()), [&] { Unpacker(source, directory).all(); });
}

fs::path unpacked(int image, const fs::path& name, const fs::path& cache) {
  const std::string wanted = identity(image);
  fs::path ready = cache / wanted;
  if (fs::is_directory(ready)) return ready;
  std::error_code problem;
  fs::create_directories(cache, problem);
  if (problem)
    throw Error(Failure::impossible,
                "nothing here may mount {}, and there is no place to unpack it: cannot make {}: {}: set "
                "LONGSHIP_STORE to a "
                "directory of your own",
                name.string(), cache.string(), problem.message());
  const Fd held = wait_for_lock(cache / (wanted + ".lock"));
  if (fs::is_directory(ready)) return ready;  // somebody else was faster
  const fs::path aside = cache / (wanted + ".partial");
  remove_tree(aside);  // of one that was killed
  note("unpacking {} into {}, once", name.string(), cache.string());
  try {
    if (::mkdir(aside.c_str(), 0700) != 0) throw Error::from_errno(errno, "cannot make {}", aside.string());
    const Fd directory = open_file(aside, O_RDONLY | O_DIRECTORY);
    unpack(image, name, directory.get());
    if (::fchmod(directory.get(), 0755) != 0 || ::rename(aside.c_str(), ready.c_str()) != 0)
      throw Error::from_errno(errno, "cannot rename {}", aside.string());
  } catch (...) {
    remove_tree(aside);
    throw;
  }
  return ready;
}

}  // namespace longship::box
