// SPDX-License-Identifier: Apache-2.0
// Adding, removing and checking: apart from finding, so that what only runs images does not link OpenSSL.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <map>
#include <set>
#include <system_error>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/file.h"
#include "base/lock_file.h"
#include "base/say.h"
#include "formats/digest.h"
#include "records.h"
#include "store.h"

namespace longship::store {
namespace fs = std::filesystem;

Aside Store::aside() const {
  return within("image store", [&] { return Aside(where_ / "asides"); });
}

Fd Store::lock(int kind) const {
  fs::create_directories(where_);
  return wait_for_lock(where_ / "lock", kind, 0666);  // as far as the umask allows
}

// Writes come before the record that refers to them, so a crash in between costs space and nothing else.
void Store::place(Image& image, Aside file) const {
  const auto size = fs::file_size(file.path());
  if (::lseek(file.fd(), 0, SEEK_SET) != 0)
    throw Error::from_errno(errno, "cannot read {}", file.path().string());
  image.root = formats::digest_of_rest(file.fd());
  image.size = size;
  if (image.created == 0) image.created = static_cast<std::int64_t>(std::time(nullptr));
  file.commit_as(own_blob(image.root));
}

void Store::write_record(const fs::path& path, const Image& image) const {
  Aside file = aside();
  write_all(file.fd(), formats::dump_json(to_json(image), formats::Layout::pretty) + "\n");
  file.commit_as(path);
}

Image Store::add(Image image, Aside file) {
  const auto record = record_of(image.name);
  validate_variant(image);
  const Fd held = lock(LOCK_SH);
  place(image, std::move(file));
  write_record(record, image);
  return image;
}

void Store::add(const Image& image) {
  const auto record = record_of(image.name);
  validate_variant(image);
  const Fd held = lock(LOCK_SH);
  if (!fs::exists(root_of(image)))
    throw Error("image {}: its file {} is gone", image.name, root_of(image).string());
  write_record(record, image);
}

std::optional<Image> Store::find_step(std::string_view key) const {
  const auto record = step_of(key);
  if (!fs::exists(record)) return std::nullopt;
  Image image = read_record(record);
  if (!fs::exists(root_of(image))) return std::nullopt;
  return image;
}

void Store::add_step(std::string_view key, const Image& image) {
  const Fd held = lock(LOCK_SH);
  if (fs::exists(root_of(image))) write_record(step_of(key), image);
}

Image Store::add_step(std::string_view key, Image image, Aside file) {
  const Fd held = lock(LOCK_SH);
  place(image, std::move(file));
  write_record(step_of(key), image);
  return image;
}

void Store::remove(std::string_view name) {
  const auto record = record_of(name);
  if (!fs::exists(record)) {
    if (!central_.empty() && fs::exists(central_ / "images" / record_file(name)))
      throw Error("image {} is in the store that is shared here, {}: only its owner removes it", name,
                  central_.string());
    throw not_found(name);
  }
  const Fd held = lock(LOCK_EX);
  fs::remove(record);
  failpoint("store.forgotten");
  forget_steps(name);
  remove_unused();
}

void Store::forget_steps(std::string_view name) const {
  for (const auto& record : records_in(where_ / "steps")) {
    const bool its = [&] {
      try {
        return read_record(record).name == name;
      } catch (const Error&) {
        return true;  // a cache that cannot be read is of no use to anybody
      }
    }();
    if (!its) continue;
    fs::remove(record);
    failpoint("store.forgotten");
  }
}

std::uint64_t Store::remove_unused() const {
  std::set<std::string> used;
  for (const char* kind : {"images", "steps"})
    for (const auto& record : records_in(where_ / kind)) {
      try {
        used.insert(std::string(formats::hex_of(read_record(record).root)));
      } catch (const Error& error) {
        warn("no files are removed, because it is not known what this one refers to: {}", error.what());
        return 0;
      }
    }
  std::uint64_t freed = 0;
  std::error_code error;
  for (fs::directory_iterator at(where_ / "blobs" / "sha256", error), end; !error && at != end;
       at.increment(error)) {
    if (used.contains(at->path().filename().string())) continue;
    freed += at->file_size();
    fs::remove(at->path());
    failpoint("store.removed");
  }
  return freed;
}

std::uint64_t Store::collect_garbage(bool steps_too) {
  const Fd held = lock(LOCK_EX);
  for (const auto& record : records_in(where_ / "steps")) {
    bool useless = steps_too;
    try {
      useless = useless || !fs::exists(own_blob(read_record(record).root));
    } catch (const Error&) {
      useless = true;  // a cache that cannot be read is of no use to anybody
    }
    if (!useless) continue;
    fs::remove(record);
    failpoint("store.forgotten");
  }
  remove_abandoned(where_ / "asides");
  return remove_unused() + remove_unused_pulled();
}

std::vector<Damage> Store::verify(const std::function<void(std::uint64_t)>& checked) const {
  std::map<std::string, std::vector<std::string>> needed;
  for (const auto& image : list()) needed[image.root].push_back(image.name);
  std::vector<Damage> damages;
  for (const auto& [digest, images] : needed) {
    const auto file = blob(digest);
    if (!fs::exists(file)) {
      damages.push_back({digest, images, "is missing"});
      continue;
    }
    if (formats::digest_of_file(file) != digest)
      damages.push_back({digest, images, "its content has changed"});
    if (checked) checked(fs::file_size(file));
  }
  verify_pulled(checked);
  return damages;
}

}  // namespace longship::store
