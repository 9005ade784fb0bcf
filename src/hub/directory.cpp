// SPDX-License-Identifier: Apache-2.0
#include "directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/document.h"
#include "secrets.h"

namespace longship::hub {
namespace fs = std::filesystem;

namespace {

// What is known about the hub that holds the lock.
std::string other_hub(const fs::path& directory) {
  std::string text;
  try {
    if (const auto pid = read_file(directory / "lock", 64); !trim(pid).empty())
      text = fmt::format(" (process {}", trim(pid));
    const auto url = formats::parse_json(read_file(directory / "hub.json", 4096), "hub.json");
    if (const auto* found = url.find("url"))
      text += fmt::format("{}{}", text.empty() ? " (" : ", ", found->text());
  } catch (const std::exception&) {  // it has just begun
  }
  return text.empty() ? text : text + ")";
}

}  // namespace

Directory::Directory(fs::path path) : path_(std::move(path)) {
  within(fmt::format("the hub's directory {}", path_.string()), [&] {
    fs::create_directories(path_);
    struct stat status {};
    if (::stat(path_.c_str(), &status) != 0) throw Error::from_errno(errno, "cannot look at it");
    if (status.st_uid != ::geteuid()) throw Error("it belongs to another user");
    if (::chmod(path_.c_str(), 0700) != 0) throw Error::from_errno(errno, "cannot make it private");
    take_lock();
    read_token();
  });
}

void Directory::take_lock() {
  lock_ = open_file(path_ / "lock", O_RDWR | O_CREAT, 0600);
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) throw Error::from_errno(errno, "cannot lock it");
    throw Error("another hub{} uses it: use that one, or end it first", other_hub(path_));
  }
  if (::ftruncate(lock_.get(), 0) != 0) throw Error::from_errno(errno, "cannot write its lock");
  write_all(lock_.get(), fmt::format("{}\n", ::getpid()));
}

void Directory::read_token() {
  const auto file = path_ / "token";
  if (!fs::exists(file)) write_file(file, new_token() + "\n", 0600);
  if (::chmod(file.c_str(), 0600) != 0)
    throw Error::from_errno(errno, "cannot make {} private", file.string());
  token_ = trim(read_file(file, 4096));
  if (token_.size() < 32) throw Error("{} holds no token: remove it, a new one will be made", file.string());
}

std::string user_name() {
  const auto* entry = ::getpwuid(::geteuid());
  return entry != nullptr ? entry->pw_name : fmt::format("uid{}", ::geteuid());
}

}  // namespace longship::hub
