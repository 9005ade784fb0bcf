// SPDX-License-Identifier: Apache-2.0
#include "cdi.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "formats/fields.h"
#include "formats/yaml.h"

namespace longship::launch {
namespace fs = std::filesystem;
namespace {

using formats::Fields;

constexpr std::size_t largest = 4u << 20;

fs::path path_at(const Fields& fields, std::string_view key, std::string_view fallback = {}) {
  const auto text = fallback.empty() ? fields.text(key) : fields.text(key, fallback);
  if (!text.starts_with('/') || text.find('\0') != std::string::npos)
    throw fields.wrong(key, "\"{}\" is not an absolute path", printable(text));
  return fs::path(text).lexically_normal();
}

// The tables of a list, whose own keys others may add to.
std::vector<Fields> tables_at(const Fields& fields, const std::string& key) {
  std::vector<Fields> tables;
  if (const auto* list = fields.find(key); list != nullptr && !list->is(formats::Kind::null))
    for (const auto& one : list->array()) tables.emplace_back(one, key);
  return tables;
}

CdiEdits::Mount device_in(const Fields& fields) {
  const auto to = path_at(fields, "path");
  return {path_at(fields, "hostPath", to.native()), to, false};
}

CdiEdits::Mount mount_in(const Fields& fields) {
  const auto options = fields.words("options");
  const bool writable = std::find(options.begin(), options.end(), "rw") != options.end();
  return {path_at(fields, "hostPath"), path_at(fields, "containerPath"), !writable};
}

CdiEdits edits_in(const Fields& owner) {
  CdiEdits edits;
  const auto* value = owner.find("containerEdits");
  if (value == nullptr || value->is(formats::Kind::null)) return edits;
  const Fields fields(*value, "containerEdits");
  for (const auto& one : tables_at(fields, "deviceNodes")) edits.devices.push_back(device_in(one));
  for (const auto& one : tables_at(fields, "mounts")) edits.mounts.push_back(mount_in(one));
  for (const auto& variable : fields.words("env")) {
    const auto equals = variable.find('=');
    if (equals == std::string::npos || equals == 0)
      throw fields.wrong("env", "\"{}\" is not NAME=VALUE", printable(variable));
    edits.environment[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  edits.hooks = static_cast<int>(tables_at(fields, "hooks").size());
  return edits;
}

// "0" and 0 are the same name: YAML's writers leave quotes out.
std::string name_in(const Fields& fields) {
  const auto& value = fields.required("name");
  return value.is(formats::Kind::integer) ? std::to_string(value.integer()) : fields.text("name");
}

std::vector<fs::path> files_in(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (fs::directory_iterator at(directory, failed), end; !failed && at != end; at.increment(failed)) {
    const auto extension = at->path().extension();
    if (extension == ".json" || extension == ".yaml" || extension == ".yml") files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

CdiSpec parse_cdi(std::string_view text, std::string_view origin) {
  const formats::Limits limits{largest, 16};
  const auto value = trim(text).starts_with('{') ? formats::parse_json(text, origin, limits)
                                                 : formats::parse_yaml(text, origin, limits);
  const Fields fields(value, "");
  if (fields.text("cdiVersion").empty()) throw fields.wrong("cdiVersion", "empty");
  CdiSpec spec;
  spec.kind = fields.text("kind");
  if (spec.kind.find('/') == std::string::npos)
    throw fields.wrong("kind", "\"{}\" is not VENDOR/CLASS", printable(spec.kind));
  spec.edits = edits_in(fields);
  for (const auto& device : tables_at(fields, "devices")) spec.devices[name_in(device)] = edits_in(device);
  return spec;
}

std::vector<CdiSpec> read_cdi(const std::vector<fs::path>& directories) {
  std::vector<CdiSpec> specs;
  for (const auto& directory : directories)
    for (const auto& file : files_in(directory)) {
      try {
        auto spec = parse_cdi(read_file(file, largest), file.native());
        for (auto& before : specs)
          if (before.kind == spec.kind)
            for (const auto& [name, edits] : spec.devices) before.devices.erase(name);
        specs.push_back(std::move(spec));
      } catch (const Error& error) {
        warn("{}", error.what());
      }
    }
  return specs;
}

}  // namespace longship::launch
