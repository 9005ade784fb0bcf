// SPDX-License-Identifier: Apache-2.0
#include "records.h"

#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "base/file.h"

namespace longship::store {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t largest_record = 4u << 20;

}  // namespace

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

std::string record_file(std::string_view name) {
  validate_name(name);
  std::string file(name);
  std::replace(file.begin(), file.end(), '/', '+');
  return file + ".json";
}

}  // namespace longship::store
