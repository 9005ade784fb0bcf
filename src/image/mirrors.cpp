// SPDX-License-Identifier: Apache-2.0
#include "mirrors.h"

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/fields.h"

namespace longship::image {
namespace fs = std::filesystem;
namespace {

constexpr const char* for_everybody = "/etc/longship/registries.toml";

std::string variable(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

fs::path file_in(const Environment& environment) {
  if (const auto named = variable(environment, "LONGSHIP_REGISTRIES"); !named.empty()) return named;
  const fs::path config = variable(environment, "XDG_CONFIG_HOME");
  const fs::path own = (config.empty() ? fs::path(variable(environment, "HOME")) / ".config" : config) /
                       "longship" / "registries.toml";
  std::error_code ignored;
  return fs::exists(own, ignored) ? own : fs::path(for_everybody);
}

Reference at_mirror(const std::string& mirror, const Reference& reference) {
  auto found = parse_reference(mirror + "/" + reference.full_repository());
  found.tag = reference.tag;
  found.digest = reference.digest;
  return found;
}

}  // namespace

Mirrors::Mirrors(const formats::Value& document) {
  const formats::Fields fields(document, "", {"version", "registry"});
  static_cast<void>(fields.integer("version", {1, 1}));
  for (const auto& table : fields.tables("registry", {"host", "mirrors", "plain_http"})) {
    const auto host = table.text("host");
    const Registry registry{table.words("mirrors"), table.flag("plain_http", false)};
    for (const auto& name : registry.mirrors) {
      try {
        static_cast<void>(parse_reference(name + "/x"));
      } catch (const Error&) {
        throw table.wrong("mirrors", "\"{}\" is not HOST[:PORT] or HOST[:PORT]/PREFIX", printable(name));
      }
    }
    if (!registries_.emplace(host, registry).second)
      throw table.wrong("host", "{} is there twice", printable(host));
  }
}

Mirrors Mirrors::of(const Environment& environment) {
  const auto file = file_in(environment);
  std::error_code ignored;
  const bool named = !variable(environment, "LONGSHIP_REGISTRIES").empty();
  if (!named && !fs::exists(file, ignored)) return {};
  return Mirrors(formats::parse_toml(read_file(file, std::size_t{1} << 20), file.string()));
}

std::vector<Reference> Mirrors::places(const Reference& reference) const {
  std::vector<Reference> all;
  if (const auto found = registries_.find(reference.registry); found != registries_.end())
    for (const auto& mirror : found->second.mirrors) all.push_back(at_mirror(mirror, reference));
  all.push_back(reference);
  return all;
}

bool Mirrors::plain_http(std::string_view registry) const {
  const auto found = registries_.find(registry);
  return found != registries_.end() && found->second.plain_http;
}

}  // namespace longship::image
