// SPDX-License-Identifier: Apache-2.0
#include "store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
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

Store::Store(fs::path where) : where_(std::move(where)) {}

fs::path Store::record_of(std::string_view name) const {
  validate_name(name);
  std::string file(name);
  std::replace(file.begin(), file.end(), '/', '+');
  return where_ / "images" / (file + ".json");
}

fs::path Store::step_of(std::string_view key) const {
  return where_ / "steps" / (std::string(formats::hex_of(key)) + ".json");
}

fs::path Store::blob(std::string_view digest) const {
  return where_ / "blobs" / "sha256" / formats::hex_of(digest);
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
  const auto record = record_of(name);
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
  for (const auto& record : records_in(where_ / "images")) {
    try {
      images.push_back(read_record(record));
    } catch (const Error& error) {
      warn("{}", error.what());
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
  file.commit_as(blob(image.root));
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
  if (!fs::exists(record)) throw not_found(name);
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

void Store::remove_unused() const {
  std::set<std::string> used;
  for (const char* kind : {"images", "steps"})
    for (const auto& record : records_in(where_ / kind)) {
      try {
        used.insert(std::string(formats::hex_of(read_record(record).root)));
      } catch (const Error& error) {
        warn("no files are removed, because it is not known what this one refers to: {}", error.what());
        return;
      }
    }
  std::error_code error;
  for (fs::directory_iterator at(where_ / "blobs" / "sha256", error), end; !error && at != end;
       at.increment(error))
    if (!used.contains(at->path().filename().string())) fs::remove(at->path());
}

}  // namespace longship::store
