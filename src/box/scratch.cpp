// SPDX-License-Identifier: Apache-2.0
#include "scratch.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "hand_over.h"
#include "keeper.h"
#include "small_file.h"

namespace longship::box {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view prefix = "longship-box-";

// Some process, of those that we may look at, still has the overlay.
bool is_mounted_somewhere(const std::string& name) {
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator("/proc", problem)) {
    const auto pid = entry.path().filename().string();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto mounts = read_small_file((entry.path() / "mountinfo").string());
    if (mounts && mounts->find(" " + name + " ") != std::string::npos) return true;
  }
  return false;
}

// Until the kernel says that the watched file system is gone. False: nothing was ever watched.
bool await_unmount(int told, int events) {
  char byte = 0;
  if (::read(told, &byte, 1) != 1) return false;
  alignas(inotify_event) char buffer[4096];
  for (;;) {
    const auto got = ::read(events, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    for (ssize_t at = 0; at < got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
      if ((event->mask & (IN_UNMOUNT | IN_IGNORED)) != 0) return true;
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
  }
}

fs::path make_directory(const fs::path& parent) {
  std::string name = parent / (std::string(prefix) + "XXXXXX");
  if (::mkdtemp(name.data()) == nullptr)
    throw Error::from_errno(errno, "cannot make a directory in {} for what the box writes", parent.string());
  return name;
}

}  // namespace

Scratch::Scratch(const fs::path& parent) {
  remove_abandoned_scratch(parent);
  directory_ = make_directory(fs::absolute(parent));
  lock_ = open_file(directory_ / "lock", O_RDWR | O_CREAT | O_EXCL, 0600);
  ::flock(lock_.get(), LOCK_EX | LOCK_NB);
  events_.reset(::inotify_init1(IN_CLOEXEC));
  told_ = make_pipe();
  start_clearer();
}

void Scratch::start_clearer() {
  start_keeper([this] {
    told_.write.reset();
    keep_only({lock_.get(), events_.get(), told_.read.get()});
    (void)await_unmount(told_.read.get(), events_.get());
    remove_tree(directory_);
  });
  told_.read.reset();
}

Upper Scratch::open_upper() const {
  return box::open_upper(directory_ / "upper", directory_ / "work");
}

void Scratch::settle(const std::string& root) {
  if (::inotify_add_watch(events_.get(), root.c_str(), IN_DELETE_SELF) < 0)
    throw Error::from_errno(errno, "cannot watch the box's root, to clear up after it");
  if (::write(told_.write.get(), "", 1) != 1) throw Error::from_errno(errno, "cannot write to a pipe");
}

void remove_abandoned_scratch(const fs::path& parent) {
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(parent, problem)) {
    const auto name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    const Fd lock(::open((entry.path() / "lock").c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 || is_mounted_somewhere(name)) continue;
    explain("removing {}, which a box that was killed left behind", entry.path().string());
    remove_tree(entry.path());
  }
}

}  // namespace longship::box
