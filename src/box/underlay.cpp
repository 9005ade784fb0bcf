// SPDX-License-Identifier: Apache-2.0
#include "underlay.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <memory>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "mounts.h"
#include "place.h"

namespace longship::box {
namespace {

class Underlay {
 public:
  explicit Underlay(const Layers& layers) : layers_(layers) {}

  void bind_image() {
    bind_mount(layers_.image, layers_.root);
    make_read_only(layers_.root);
    reopen();
  }

  void add_directory(const std::string& path) {
    const Place place = find_place(root_.get(), path);
    if (!place.exists) make(place.path, [](const std::string& at) { return ::mkdir(at.c_str(), 0755); });
  }

  void add_file(const std::string& path) {
    const Place place = find_place(root_.get(), path);
    if (!place.exists)
      make(place.path, [](const std::string& at) { return ::mknod(at.c_str(), S_IFREG | 0644, 0); });
  }

  void add_content(const Additions::Content& content) {
    const std::string source = layers_.workshop + "/" + std::to_string(contents_++);
    const Fd file = open_file(source, O_WRONLY | O_CREAT | O_EXCL, 0644);
    write_all(file.get(), content.bytes);
    add_file(content.path);
    const Place place = find_place(root_.get(), content.path);
    bind_mount(source, layers_.root + "/" + place.path);
  }

  // The tmpfs directories were writable while they were filled.
  void seal() {
    for (const auto& at : replaced_) detail::make_read_only_by_remount(at);
  }

 private:
  void reopen() {
    root_.reset(::open(layers_.root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root_) throw Error::from_errno(errno, "cannot open {}", layers_.root);
  }

  template <class Make>
  void make(const std::string& path, Make&& last) {
    std::size_t known = 0;  // as much of the path as is there
    for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
      if (!find_place(root_.get(), path.substr(0, end)).exists) break;
      known = end;
    }
    replace(path.substr(0, known));
    const std::string at = layers_.root + "/";
    for (std::size_t end = path.find('/', known + 1); end != std::string::npos; end = path.find('/', end + 1))
      if (::mkdir((at + path.substr(0, end)).c_str(), 0755) != 0 && errno != EEXIST) fail(path);
    if (last(at + path) != 0) fail(path);
  }

  [[noreturn]] void fail(const std::string& path) const {
    throw Error::from_errno(errno, "cannot make a place for /{}", printable(path));
  }

  // A tmpfs instead of the directory, with the same names in it.
  void replace(const std::string& path) {
    const std::string at = layers_.root + "/" + path;
    if (is_ours(at)) return;
    const Fd original(::open(at.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!original) throw Error::from_errno(errno, "cannot list /{}", printable(path));
    mount_tmpfs(at, "mode=0755");
    replaced_.push_back(at);
    if (path.empty()) reopen();
    struct stat about = {};
    if (::stat(at.c_str(), &about) == 0) devices_.insert(about.st_dev);
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(::dup(original.get())), ::closedir);
    while (const dirent* entry = ::readdir(listing.get())) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") take_over(original.get(), name, at + "/" + name);
    }
  }

  // Made here, and not the image's: on one of the tmpfs mounts of replace().
  bool is_ours(const std::string& at) const {
    struct stat about = {};
    return ::stat(at.c_str(), &about) == 0 && devices_.contains(about.st_dev);
  }

  void take_over(int original, const std::string& name, const std::string& to) {
    const Fd source(::openat(original, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat about = {};
    if (!source || ::fstat(source.get(), &about) != 0)
      throw Error::from_errno(errno, "cannot look at {}", printable(name));
    if (S_ISLNK(about.st_mode)) {
      char target[PATH_MAX] = {};
      if (::readlinkat(original, name.c_str(), target, sizeof target - 1) < 0 ||
          ::symlink(target, to.c_str()) != 0)
        throw Error::from_errno(errno, "cannot take over the link {}", printable(name));
      return;
    }
    const int made =
        S_ISDIR(about.st_mode) ? ::mkdir(to.c_str(), 0755) : ::mknod(to.c_str(), S_IFREG | 0644, 0);
    if (made != 0) throw Error::from_errno(errno, "cannot take over {}", printable(name));
    within(printable(name), [&] { bind_mount(path_of(source.get(), layers_.proc), to); });
  }

  const Layers& layers_;
  Fd root_;
  std::vector<std::string> replaced_;
  std::set<dev_t> devices_;
  int contents_ = 0;
};

}  // namespace

void underlay(const Layers& layers, const Additions& additions) {
  Underlay under(layers);
  under.bind_image();
  for (const auto& path : additions.directories) under.add_directory(path);
  for (const auto& path : additions.files) under.add_file(path);
  for (const auto& content : additions.contents) under.add_content(content);
  under.seal();
}

}  // namespace longship::box
