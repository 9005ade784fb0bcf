// SPDX-License-Identifier: Apache-2.0
#include "store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <map>
#include <set>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "formats/digest.h"

namespace longship::store {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t largest_record = 4u << 20;

Image read_record(const fs::path& path) {
  return within(path.string(), [&] {
    return image_from_json(formats::parse_json(read_file(path, largest_record), path.filename().string()));
  });
}

std::vector<fs::path> records_in(const fs::path& directory) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    if (at->path().extension() == ".json") found.push_back(at->path());
  std::sort(found.begin(), found.end());
  return found;
}

std::string file_of(std::string_view name) {
  validate_name(name);
  std::string file(name);
  std::replace(file.begin(), file.end(), '/', '+');
  return file + ".json";
}

const char* set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

}  // namespace

fs::path default_location() {
  if (const char* chosen = set("LONGSHIP_STORE")) return fs::absolute(chosen);
  if (const char* data = set("XDG_DATA_HOME")) return fs::path(data) / "longship";
  if (const char* home = set("HOME")) return fs::path(home) / ".local" / "share" / "longship";
  throw Error(Failure::impossible, "there is no place for images: set LONGSHIP_STORE or HOME");
}

fs::path central_location() {
  const char* chosen = set("LONGSHIP_CENTRAL_STORE");
  return chosen == nullptr ? fs::path() : fs::absolute(chosen);
}

Store::Store(fs::path where, fs::path central) : where_(std::move(where)), central_(std::move(central)) {
  if (central_ == where_) central_.clear();  // a centre's own people, who may write to it
}

fs::path Store::record_of(std::string_view name) const {
  return where_ / "images" / file_of(name);
}

fs::path Store::step_of(std::string_view key) const {
  return where_ / "steps" / (std::string(formats::hex_of(key)) + ".json");
}

fs::path Store::own_blob(std::string_view digest) const {
  return where_ / "blobs" / "sha256" / formats::hex_of(digest);
}

fs::path Store::blob(std::string_view digest) const {
  auto own = own_blob(digest);
  if (central_.empty()) return own;
  auto shared = central_ / "blobs" / "sha256" / formats::hex_of(digest);
  std::error_code error;
  return !fs::exists(own, error) && fs::exists(shared, error) ? shared : own;
}

fs::path Store::root_of(const Image& image) const {
  return blob(image.root);
}

Error Store::not_found(std::string_view name) const {
  std::vector<std::string> names;
  for (const auto& image : list()) names.push_back(image.name);
  std::string known = suggestion(name, names);
  if (known.empty() && !names.empty()) known = " (there are: " + join(names, ", ") + ")";
  return Error(
      "there is no image \"{}\" in {}{}; \"longship image bootstrap\", \"build\" or \"import\" make one",
      name, where_.string(), known);
}

Image Store::find(std::string_view name) const {
  auto record = record_of(name);
  if (!fs::exists(record) && !central_.empty()) record = central_ / "images" / file_of(name);
  if (!fs::exists(record)) throw not_found(name);
  Image image = read_record(record);
  if (!fs::exists(root_of(image)))
    throw Error(
        "image {}: its file {} is gone; make it again, or remove the name with \"longship image rm {}\"",
        name, root_of(image).string(), name);
  return image;
}

std::vector<Image> Store::list() const {
  std::vector<Image> images;
  std::set<std::string> names;
  for (const auto& where : {where_, central_}) {
    if (where.empty()) continue;
    for (const auto& record : records_in(where / "images")) {
      try {
        Image image = read_record(record);
        if (names.insert(image.name).second) images.push_back(std::move(image));
      } catch (const Error& error) {
        warn("{}", error.what());
      }
    }
  }
  std::sort(images.begin(), images.end(), [](const Image& a, const Image& b) { return a.name < b.name; });
  return images;
}

Aside Store::aside() const {
  return within("image store", [&] { return Aside(where_ / "asides"); });
}

Fd Store::lock(int kind) const {
  fs::create_directories(where_);
  Fd fd = open_file(where_ / "lock", O_RDWR | O_CREAT);
  while (::flock(fd.get(), kind) != 0)
    if (errno != EINTR) throw Error::from_errno(errno, "cannot lock {}", (where_ / "lock").string());
  return fd;
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
  const Fd held = lock(LOCK_SH);
  place(image, std::move(file));
  write_record(record, image);
  return image;
}

void Store::add(const Image& image) {
  const auto record = record_of(image.name);
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
    if (!central_.empty() && fs::exists(central_ / "images" / file_of(name)))
      throw Error("image {} is in the store that is shared here, {}: only its owner removes it", name,
                  central_.string());
    throw not_found(name);
  }
  const Fd held = lock(LOCK_EX);
  fs::remove(record);
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
    if (its) fs::remove(record);
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
    if (useless) fs::remove(record);
  }
  remove_abandoned(where_ / "asides");
  return remove_unused();
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
  return damages;
}

}  // namespace longship::store
