// SPDX-License-Identifier: Apache-2.0
#include "blobs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/file.h"
#include "formats/digest.h"
#include "formats/document.h"

namespace longship::hub {
namespace fs = std::filesystem;

namespace {

std::uint64_t size_of(const fs::path& file) {
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode)
             ? static_cast<std::uint64_t>(status.st_size)
             : 0;
}

void copy(const fs::path& from, int to) {
  const auto source = open_file(from, O_RDONLY);
  std::string buffer(std::size_t{1} << 20, '\0');
  for (;;) {
    const auto got = ::read(source.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Error::from_errno(errno, "cannot read {}", from.string());
    if (got == 0) return;
    write_all(to, std::string_view(buffer).substr(0, static_cast<std::size_t>(got)));
  }
}

}  // namespace

Blobs::Blobs(fs::path directory, const fs::path& image_store)
    : directory_(std::move(directory)), images_(image_store) {
  fs::create_directories(directory_ / "sha256");
  fs::create_directories(directory_ / "partial");
  finish_what_is_complete();
}

// All bytes of an upload came, but the hub was killed before it had its name: nobody would ever send more of
// it.
void Blobs::finish_what_is_complete() const {
  for (const auto& entry : fs::directory_iterator(directory_ / "partial")) {
    const auto digest = "sha256:" + entry.path().filename().string();
    if (formats::is_digest(digest) && formats::digest_of_file(entry.path()) == digest)
      give_name(digest, entry.path());
  }
}

fs::path Blobs::whole(std::string_view digest) const {
  return directory_ / "sha256" / formats::hex_of(digest);
}

fs::path Blobs::partial(std::string_view digest) const {
  return directory_ / "partial" / formats::hex_of(digest);
}

fs::path Blobs::find(std::string_view digest) const {
  if (!formats::is_digest(digest)) return {};
  for (const auto& path : {whole(digest), images_.blob(digest)}) {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) return path;
  }
  return {};
}

bool Blobs::has(std::string_view digest) const {
  return !find(digest).empty();
}

std::optional<std::uint64_t> Blobs::size(std::string_view digest) const {
  const auto path = find(digest);
  return path.empty() ? std::nullopt : std::optional(size_of(path));
}

std::uint64_t Blobs::uploaded(std::string_view digest) const {
  if (const auto there = find(digest); !there.empty()) return size_of(there);
  return size_of(partial(digest));
}

std::uint64_t Blobs::upload(std::string_view digest, std::uint64_t offset, std::uint64_t size,
                            std::string_view bytes) {
  if (!formats::is_digest(digest)) throw Error(Failure::usage, "\"{}\" is no digest", digest);
  const std::lock_guard lock(mutex_);
  if (has(digest)) return size;  // somebody else was faster
  const auto file = partial(digest);
  const auto so_far = size_of(file);
  if (offset != so_far)
    throw Error(Failure::usage, "the upload of {} stands at {} bytes, not at {}: go on from there", digest,
                so_far, offset);
  if (bytes.size() > size - std::min(size, so_far))
    throw Error(Failure::usage, "the upload of {} has more than the {} bytes that were announced", digest,
                size);
  within(fmt::format("upload of {}", digest), [&] {
    const auto out = open_file(file, O_WRONLY | O_CREAT | O_APPEND, 0600);
    try {
      write_all(out.get(), bytes);
    } catch (...) {  // a full disk: as if these bytes had not come
      if (::ftruncate(out.get(), static_cast<off_t>(so_far)) != 0) ::unlink(file.c_str());
      throw;
    }
    if (so_far + bytes.size() == size) complete(digest, file);
  });
  return so_far + bytes.size();
}

void Blobs::complete(std::string_view digest, const fs::path& file) const {
  if (formats::digest_of_file(file) != digest) {
    ::unlink(file.c_str());
    throw Error(Failure::usage,
                "the bytes have another digest: they were damaged on the way, send them again");
  }
  try {
    give_name(digest, file);
  } catch (...) {  // a full disk: an upload that has all its bytes would never be gone on with
    ::unlink(file.c_str());
    throw;
  }
}

void Blobs::give_name(std::string_view digest, const fs::path& file) const {
  const auto synced = open_file(file, O_RDONLY);
  if (::fsync(synced.get()) != 0) throw Error::from_errno(errno, "cannot sync {}", file.string());
  failpoint("hub.uploaded");
  if (::rename(file.c_str(), whole(digest).c_str()) != 0)
    throw Error::from_errno(errno, "cannot rename {}", file.string());
  sync_directory(directory_ / "sha256");
}

std::string Blobs::read(std::string_view digest, std::uint64_t offset, std::uint64_t length) const {
  const auto path = find(digest);
  if (path.empty()) throw Error("the hub has no blob {}", digest);
  const auto file = open_file(path, O_RDONLY);
  const auto size = size_of(path);
  if (offset > size) throw Error("blob {} has {} bytes, none at {}", digest, size, offset);
  std::string bytes(std::min({length, largest_chunk, size - offset}), '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const auto got =
        ::pread(file.get(), bytes.data() + have, bytes.size() - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw Error::from_errno(got < 0 ? errno : EIO, "cannot read blob {}", digest);
    have += static_cast<std::size_t>(got);
  }
  return bytes;
}

void Blobs::add_image(std::string_view record) {
  auto image = store::image_from_json(formats::parse_json(record, "image"));
  store::validate_name(image.name);
  if (find(image.root).empty())
    throw Error(Failure::usage, "the file of image {} ({}) has not been uploaded", image.name, image.root);
  struct stat status {};
  if (::stat(images_.blob(image.root).c_str(), &status) == 0) return images_.add(image);
  auto aside = images_.aside();
  copy(whole(image.root), aside.fd());
  const auto expected = image.root;
  const auto added = images_.add(std::move(image), std::move(aside));
  if (added.root != expected) throw Error("the file of image {} changed while it was copied", added.name);
  ::unlink(whole(expected).c_str());
}

std::string Blobs::images_stamp() const {
  struct stat status {};
  if (::stat((images_.location() / "images").c_str(), &status) != 0) return {};
  return fmt::format("{}.{}", status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

}  // namespace longship::hub
