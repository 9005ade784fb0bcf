// SPDX-License-Identifier: Apache-2.0
#include "attempt.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"

namespace longship::pilot {
namespace fs = std::filesystem;
namespace {

// N of "NAME-N", 0 if it is called otherwise.
int number_of(const std::string& entry, const std::string& name) {
  if (!entry.starts_with(name + "-")) return 0;
  const char* begin = entry.data() + name.size() + 1;
  const char* end = entry.data() + entry.size();
  int number = 0;
  const auto [rest, problem] = std::from_chars(begin, end, number);
  return problem == std::errc() && rest == end ? number : 0;
}

int last_number(const fs::path& runs, const std::string& name) {
  int last = 0;
  for (const auto& entry : fs::directory_iterator(runs))
    last = std::max(last, number_of(entry.path().filename(), name));
  return last;
}

// mkdir says who was first, also between nodes of a shared file system.
fs::path make_numbered(const fs::path& runs, const std::string& name) {
  for (int number = last_number(runs, name) + 1;; ++number) {
    const fs::path directory = runs / fmt::format("{}-{}", name, number);
    if (::mkdir(directory.c_str(), 0777) == 0) return directory;
    if (errno != EEXIST) throw Error::from_errno(errno, "cannot make {}", directory.string());
  }
}

void make_directory(const fs::path& path, unsigned mode) {
  if (::mkdir(path.c_str(), mode) != 0) throw Error::from_errno(errno, "cannot make {}", path.string());
}

}  // namespace

Attempt::Attempt(const fs::path& runs, const std::string& name) {
  within("cannot make a directory for this run", [&] {
    fs::create_directories(runs);
    remove_abandoned(runs);
    directory_ = make_numbered(runs, name);
    make_spool();
  });
}

Attempt::Attempt(const fs::path& directory) : directory_(directory) {
  within("cannot make a directory for this attempt", [&] {
    if (::mkdir(directory_.c_str(), 0700) != 0) {
      if (errno != EEXIST) throw Error::from_errno(errno, "cannot make {}", directory_.string());
      throw Error("{} is there already: another pilot began it", directory_.string());
    }
    make_spool();
  });
}

void Attempt::make_spool() {
  try {
    make_directory(spool(), 0700);
    lock_ = open_file(spool() / "lock", O_RDWR | O_CREAT | O_EXCL, 0600);
    // Where locks are not supported nobody can find the spool abandoned, and it stays until someone removes
    // it.
    ::flock(lock_.get(), LOCK_EX | LOCK_NB);
    guard_.emplace(spool());
  } catch (...) {
    remove_tree(spool());
    ::rmdir(directory_.c_str());
    throw;
  }
}

Attempt::~Attempt() {
  remove_tree(spool());
  ::rmdir(directory_.c_str());  // only if it is empty
}

void Attempt::make_places() {
  for (const auto& place : {work(), output(), record()}) make_directory(place, 0777);
}

void remove_abandoned(const fs::path& runs) {
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(runs, problem)) remove_abandoned_spool(entry.path());
}

void remove_abandoned_spool(const fs::path& attempt) {
  const fs::path spool = attempt / ".spool";
  const Fd lock(::open((spool / "lock").c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return;
  explain("removing {}, which a run that was killed left behind", spool.string());
  remove_tree(spool);
  ::rmdir(attempt.c_str());
}

}  // namespace longship::pilot
