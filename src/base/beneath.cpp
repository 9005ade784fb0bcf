// SPDX-License-Identifier: Apache-2.0
#include "beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <deque>
#include <string>
#include <vector>

#include "error.h"
#include "text.h"

namespace longship {
namespace {

constexpr int most_links = 40;  // as the kernel

bool not_available(int number) {
  return number == ENOSYS || number == EPERM;  // an older kernel, or a container's filter
}

Error cannot_open(int number, std::string_view path) {
  return Error::from_errno(number, "cannot open {}", printable(path));
}

std::string link_target(int directory, const std::string& name) {
  std::string target(PATH_MAX, '\0');
  const auto length = ::readlinkat(directory, name.c_str(), target.data(), target.size());
  if (length < 0) return {};  // not a link
  target.resize(static_cast<std::size_t>(length));
  return target;
}

// Where a walk has come to: the directories from the root it may not leave down to the present one.
class Walk {
 public:
  explicit Walk(int root) {
    Fd copy(::openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!copy) throw Error::from_errno(errno, "cannot open the directory to start from");
    at_.push_back(std::move(copy));
  }
  [[nodiscard]] int here() const { return at_.back().get(); }
  [[nodiscard]] bool at_root() const { return at_.size() == 1; }
  void to_root() { at_.resize(1); }
  void up() { at_.pop_back(); }
  // 0, or errno.
  int down(const std::string& name) {
    Fd next(::openat(here(), name.c_str(), O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC));
    if (!next) return errno;
    at_.push_back(std::move(next));
    return 0;
  }

 private:
  std::vector<Fd> at_;
};

void put_in_front(std::deque<std::string>& components, std::string_view path) {
  const auto parts = split(path, '/');
  for (auto part = parts.rbegin(); part != parts.rend(); ++part)
    if (!part->empty() && *part != ".") components.emplace_front(*part);
}

}  // namespace

Fd open_beneath(int directory, std::string_view path, int flags, unsigned mode, Links links) {
  open_how how{};
  how.flags = static_cast<__u64>(static_cast<unsigned>(flags | O_CLOEXEC));
  how.mode = mode;
  how.resolve = RESOLVE_NO_MAGICLINKS |
                (links == Links::forbid ? RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS : RESOLVE_IN_ROOT);
  const std::string name(path);
  for (int attempt = 0; attempt < 16; ++attempt) {
    Fd fd(static_cast<int>(::syscall(SYS_openat2, directory, name.c_str(), &how, sizeof how)));
    if (fd) return fd;
    if (not_available(errno)) return detail::open_beneath_by_steps(directory, path, flags, mode, links);
    if (errno != EAGAIN) throw cannot_open(errno, path);  // EAGAIN: something was renamed meanwhile
  }
  throw cannot_open(EAGAIN, path);
}

Fd detail::open_beneath_by_steps(int directory, std::string_view path, int flags, unsigned mode,
                                 Links links) {
  if (path.empty()) throw cannot_open(ENOENT, path);
  if (path.starts_with('/') && links == Links::forbid) throw cannot_open(EXDEV, path);

  Walk walk(directory);
  std::deque<std::string> components;
  put_in_front(components, path);
  int links_followed = 0;
  while (!components.empty()) {
    const std::string name = std::move(components.front());
    components.pop_front();
    if (name == "..") {
      if (!walk.at_root())
        walk.up();
      else if (links == Links::forbid)
        throw cannot_open(EXDEV, path);
      continue;
    }
    const bool last = components.empty();
    const bool keep_link = last && (flags & O_NOFOLLOW) != 0;
    if (const std::string target = keep_link ? "" : link_target(walk.here(), name); !target.empty()) {
      if (links == Links::forbid || ++links_followed > most_links) throw cannot_open(ELOOP, path);
      if (target.starts_with('/')) walk.to_root();
      put_in_front(components, target);
      continue;
    }
    if (last) {
      // The name was no link a moment ago; O_NOFOLLOW makes sure that it has not become one.
      Fd fd(::openat(walk.here(), name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, mode));
      if (!fd) throw cannot_open(errno, path);
      return fd;
    }
    if (const int number = walk.down(name); number != 0) throw cannot_open(number, path);
  }
  Fd fd(::openat(walk.here(), ".", flags | O_CLOEXEC, mode));  // "a/..", or a link to "/"
  if (!fd) throw cannot_open(errno, path);
  return fd;
}

}  // namespace longship
