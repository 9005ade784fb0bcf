// SPDX-License-Identifier: Apache-2.0
// A directory tree as a layer. Names are opened one by one from their parent's descriptor, never through a
// link.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "layer.h"

namespace longship::image {
namespace {

// Extended attributes by a name that reaches also what cannot be opened; none where the file system has none.
Attributes attributes_of(const std::string& path) {
  Attributes found;
  std::string names(64 * 1024, '\0');
  const ssize_t length = ::llistxattr(path.c_str(), names.data(), names.size());
  if (length <= 0) return found;
  names.resize(static_cast<std::size_t>(length));
  for (const auto name : split(names, '\0')) {
    if (name.empty()) continue;
    std::string value(64 * 1024, '\0');
    const ssize_t size = ::lgetxattr(path.c_str(), std::string(name).c_str(), value.data(), value.size());
    if (size < 0) continue;
    value.resize(static_cast<std::size_t>(size));
    found.emplace(name, std::move(value));
  }
  return found;
}

bool is_opaque(const Attributes& attributes) {
  for (const char* name : {"user.overlay.opaque", "trusted.overlay.opaque"})
    if (const auto found = attributes.find(name); found != attributes.end() && found->second == "y")
      return true;
  return false;
}

Kind kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return Kind::file;
    case S_IFDIR:
      return Kind::directory;
    case S_IFLNK:
      return Kind::symlink;
    case S_IFIFO:
      return Kind::fifo;
    case S_IFSOCK:
      return Kind::socket;
    default:
      return Kind::device;
  }
}

std::string link_at(int directory, const std::string& name) {
  std::string text(4096, '\0');
  const ssize_t length = ::readlinkat(directory, name.c_str(), text.data(), text.size());
  if (length <= 0) throw Error::from_errno(errno, "cannot read the link {}", printable(name));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

class DirectoryLayer final : public Layer {
 public:
  DirectoryLayer(std::filesystem::path root, bool overlay, Ignored ignored)
      : root_(std::move(root)), overlay_(overlay), ignored_(std::move(ignored)) {}
  [[nodiscard]] std::string name() const override { return root_.string(); }

  void read(MemberSink& sink) override {
    first_names_.clear();
    const Fd root = open_file(root_, O_RDONLY | O_DIRECTORY);
    struct stat info {};
    if (::fstat(root.get(), &info) != 0) throw Error::from_errno(errno, "cannot look at {}", root_.string());
    MemorySource nothing("");
    Member member;
    member.kind = Kind::directory;
    describe(member, info);
    // The root of an overlay's upper part was made for the step and says nothing about the image's.
    if (!overlay_) sink.add(member, nothing);
    read_directory(root.get(), "", sink);
  }

 private:
  void describe(Member& member, const struct stat& info) const {
    member.mode = info.st_mode & 07777u;
    member.mtime = info.st_mtime;
    member.attributes = attributes_of((root_ / member.path).string());
  }

  static std::vector<std::string> names_in(int directory) {
    Fd again(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!again) throw Error::from_errno(errno, "cannot read the directory");
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(again.get()), ::closedir);
    if (stream == nullptr) throw Error::from_errno(errno, "cannot read the directory");
    (void)again.release();  // closedir closes it
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(stream.get())) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    std::sort(names.begin(), names.end());  // so that the same tree gives the same image
    return names;
  }

  void read_directory(int directory, const std::string& path, MemberSink& sink) {
    for (const auto& name : names_in(directory)) {
      const std::string full = normal_path(path.empty() ? name : path + "/" + name);
      within(printable(full), [&] { read_one(directory, name, full, sink); });
    }
  }

  void read_one(int directory, const std::string& name, const std::string& full, MemberSink& sink) {
    struct stat info {};
    if (::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      throw Error::from_errno(errno, "cannot look at it");
    if (ignored_ && ignored_(full, S_ISDIR(info.st_mode))) return;
    Member member;
    member.path = full;
    member.kind = kind_of(info.st_mode);
    describe(member, info);
    MemorySource nothing("");
    if (overlay_ && S_ISCHR(info.st_mode) && info.st_rdev == ::makedev(0, 0)) member.kind = Kind::whiteout;
    if (member.kind == Kind::symlink) member.link = link_at(directory, name);
    if (member.kind == Kind::file) return read_file_at(directory, name, info, member, sink);
    sink.add(member, nothing);
    if (member.kind != Kind::directory) return;
    if (overlay_ && is_opaque(member.attributes)) {
      member.kind = Kind::opaque;
      sink.add(member, nothing);
    }
    const Fd inside(::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!inside) throw Error::from_errno(errno, "cannot open the directory");
    read_directory(inside.get(), full, sink);
  }

  void read_file_at(int directory, const std::string& name, const struct stat& info, Member& member,
                    MemberSink& sink) {
    MemorySource nothing("");
    if (info.st_nlink > 1) {
      const auto [first, is_first] = first_names_.emplace(std::pair(info.st_dev, info.st_ino), member.path);
      if (!is_first) {
        member.kind = Kind::hard_link;
        member.link = first->second;
        return sink.add(member, nothing);
      }
    }
    Fd file(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (!file) throw Error::from_errno(errno, "cannot open it");
    member.size = static_cast<std::uint64_t>(info.st_size);
    FileSource content(std::move(file));
    sink.add(member, content);
  }

  std::filesystem::path root_;
  bool overlay_;
  Ignored ignored_;
  std::map<std::pair<dev_t, ino_t>, std::string> first_names_;
};

}  // namespace

std::unique_ptr<Layer> directory_layer(std::filesystem::path root, Ignored ignored) {
  return std::make_unique<DirectoryLayer>(std::move(root), false, std::move(ignored));
}

std::unique_ptr<Layer> overlay_layer(std::filesystem::path upper) {
  return std::make_unique<DirectoryLayer>(std::move(upper), true, Ignored{});
}

}  // namespace longship::image
