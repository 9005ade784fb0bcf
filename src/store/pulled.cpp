// SPDX-License-Identifier: Apache-2.0
// Blobs as a registry gave them. Whoever reads one holds a shared lock on it, which the kernel releases
// however the reader ends; garbage collection removes only what it can lock for itself.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <system_error>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/say.h"
#include "formats/digest.h"
#include "store.h"

namespace longship::store {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::hours long_enough{24 * 7};  // for somebody to go on with half a blob

bool take_lock(const Fd& file, int kind) {
  while (::flock(file.get(), kind) != 0)
    if (errno != EINTR) return false;
  return true;
}

bool still_named(const Fd& file) {
  struct stat info {};
  return ::fstat(file.get(), &info) == 0 && info.st_nlink > 0;
}

}  // namespace

fs::path Store::pulled_path(std::string_view digest) const {
  return where_ / "pulled" / "sha256" / formats::hex_of(digest);
}

Fd Store::pulled(std::string_view digest) const {
  Fd file(::open(pulled_path(digest).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  // Between the two calls somebody may have removed it.
  if (!file || !take_lock(file, LOCK_SH) || !still_named(file)) return {};
  return file;
}

Fd Store::keep_pulled(std::string_view digest, Aside file) {
  Fd same(::fcntl(file.fd(), F_DUPFD_CLOEXEC, 0));  // and so the aside's lock, which becomes the reader's
  if (!same) throw Error::from_errno(errno, "cannot keep blob {}", digest);
  file.commit_as(pulled_path(digest));
  static_cast<void>(take_lock(same, LOCK_SH));
  return same;
}

Aside Store::partial(std::string_view digest) const {
  return within("image store", [&] {
    const auto place = where_ / "pulled" / "partial";
    remove_lasting(place, long_enough);
    auto found = Aside::lasting(place / formats::hex_of(digest));
    return found ? std::move(*found) : aside();
  });
}

void Store::forget_pulled(std::string_view digest) const {
  std::error_code ignored;
  fs::remove(pulled_path(digest), ignored);
}

void Store::verify_pulled(const std::function<void(std::uint64_t)>& checked) const {
  std::error_code error;
  for (fs::directory_iterator at(where_ / "pulled" / "sha256", error), end; !error && at != end;
       at.increment(error)) {
    if (checked) checked(at->file_size());
    if (formats::digest_of_file(at->path()) == "sha256:" + at->path().filename().string()) continue;
    warn("a pulled blob had changed and was removed, the next pull fetches it again: {}",
         at->path().string());
    fs::remove(at->path());
  }
}

std::uint64_t Store::remove_unused_pulled() const {
  std::set<std::string> used;
  for (const auto& image : list())
    for (const auto& digest : image.pulled) used.insert(digest);
  std::uint64_t freed = 0;
  std::error_code error;
  for (fs::directory_iterator at(where_ / "pulled" / "sha256", error), end; !error && at != end;
       at.increment(error)) {
    if (used.contains("sha256:" + at->path().filename().string())) continue;
    const Fd file(::open(at->path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!file || !take_lock(file, LOCK_EX | LOCK_NB)) continue;  // a pull is at it
    freed += at->file_size();
    fs::remove(at->path());
    failpoint("store.removed");
  }
  return freed + remove_lasting(where_ / "pulled" / "partial", std::chrono::hours(0));
}

}  // namespace longship::store
