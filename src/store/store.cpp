// SPDX-License-Identifier: Apache-2.0
#include "store.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "formats/digest.h"
#include "records.h"

namespace longship::store {
namespace fs = std::filesystem;
namespace {

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
  return where_ / "images" / record_file(name);
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
  std::error_code problem;
  const std::string path =
      fs::exists(name, problem) ? fmt::format("; the file or directory of that name is ./{}", name) : "";
  return Error(
      "there is no image \"{}\" in {}{}{}; \"longship image bootstrap\", \"build\", \"import\" or \"pull\" "
      "make one",
      name, where_.string(), known, path);
}

fs::path Store::record_to_read(std::string_view name) const {
  auto record = record_of(name);
  return fs::exists(record) || central_.empty() ? record : central_ / "images" / record_file(name);
}

bool Store::has(std::string_view name) const {
  return fs::exists(record_to_read(name));
}

Image Store::find(std::string_view name) const {
  const auto record = record_to_read(name);
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

}  // namespace longship::store
