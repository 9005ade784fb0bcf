// SPDX-License-Identifier: Apache-2.0
#include "credentials.h"

#include <openssl/evp.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/fields.h"

namespace longship::image {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t largest_file = 4u << 20;

std::string variable(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

formats::Value read_document(const fs::path& path) {
  return formats::parse_json(read_file(path, largest_file), path.string());
}

// The registry whose credentials go by another name: docker and its helpers keep them under this address,
// podman, skopeo and we under "docker.io".
constexpr std::string_view docker_hub = "docker.io";
constexpr const char* docker_hub_in_docker = "https://index.docker.io/v1/";

// Docker writes "https://index.docker.io/v1/" for some, and the bare host for others.
bool is_for(std::string_view key, std::string_view registry) {
  for (const std::string_view scheme : {"https://", "http://"})
    if (key.starts_with(scheme)) key.remove_prefix(scheme.size());
  const auto host = key.substr(0, key.find('/'));
  return (host == registry || (registry == docker_hub && host == "index.docker.io")) &&
         (key.find('/') == std::string_view::npos || key.substr(key.find('/')).starts_with("/v"));
}

std::optional<Credentials> of_entry(const formats::Value& entry) {
  const formats::Fields fields(entry, "auths");
  Credentials found;
  found.identity_token = fields.text("identitytoken", "");
  found.user = fields.text("username", "");
  found.password = fields.text("password", "");
  if (const auto text = fields.text("auth", ""); !text.empty()) {
    const auto pair = from_base64(text);
    const auto colon = pair ? pair->find(':') : std::string::npos;
    if (colon == std::string::npos) throw fields.wrong("auth", "it is not USER:PASSWORD in base64");
    found.user = pair->substr(0, colon);
    found.password = pair->substr(colon + 1);
  }
  if (found.user.empty() && found.identity_token.empty()) return {};
  return found;
}

std::optional<Credentials> from_helper(const std::string& helper, std::string_view registry) {
  const std::string host(registry == docker_hub ? docker_hub_in_docker : registry);
  Command command;
  command.arguments = {"docker-credential-" + helper, "get"};
  const Outcome outcome = run(command, {.input = host, .timeout = std::chrono::seconds(30)});
  if (!outcome.ending.ok()) return {};  // its way to say that it does not know the registry
  const auto document = formats::parse_json(outcome.output, "docker-credential-" + helper);
  const formats::Fields fields(document, "");
  Credentials found{fields.text("Username"), fields.text("Secret"), ""};
  if (found.user == "<token>") found = {"", "", found.password};
  return found;
}

std::optional<Credentials> in_document(const formats::Value& document, std::string_view registry) {
  auto entry = detail::entry_for(document, registry);
  return entry.helper.empty() ? std::move(entry.credentials) : from_helper(entry.helper, registry);
}

// A program in the user's PATH, and nothing else.
std::string helper_named(const std::string& name) {
  return name.find('/') == std::string::npos ? name : std::string();
}

formats::Table without(const formats::Table& table, std::string_view registry) {
  formats::Table kept;
  for (const auto& entry : table)
    if (!is_for(entry.key, registry)) kept.set(entry.key, entry.value);
  return kept;
}

}  // namespace

detail::Entry detail::entry_for(const formats::Value& document, std::string_view registry) {
  if (const auto* helpers = document.find("credHelpers");
      helpers != nullptr && helpers->is(formats::Kind::table))
    for (const auto& entry : helpers->table())
      if (is_for(entry.key, registry)) return {{}, helper_named(entry.value.text())};
  if (const auto* entries = document.find("auths"); entries != nullptr && entries->is(formats::Kind::table))
    for (const auto& entry : entries->table())
      if (is_for(entry.key, registry))
        if (auto found = of_entry(entry.value)) return {std::move(found), {}};
  if (const auto* keeper = document.find("credsStore"); keeper != nullptr && keeper->is(formats::Kind::text))
    return {{}, helper_named(keeper->text())};
  return {};
}

CredentialFiles::CredentialFiles(const Environment& environment) {
  const fs::path home = variable(environment, "HOME");
  const fs::path config = variable(environment, "XDG_CONFIG_HOME");
  own_ = variable(environment, "LONGSHIP_REGISTRY_AUTH");
  if (own_.empty()) own_ = (config.empty() ? home / ".config" : config) / "longship" / "auth.json";
  files_.push_back(own_);
  if (const auto named = variable(environment, "REGISTRY_AUTH_FILE"); !named.empty())
    files_.emplace_back(named);
  if (const auto runtime = variable(environment, "XDG_RUNTIME_DIR"); !runtime.empty())
    files_.push_back(fs::path(runtime) / "containers" / "auth.json");
  const fs::path docker = variable(environment, "DOCKER_CONFIG");
  files_.push_back((docker.empty() ? home / ".docker" : docker) / "config.json");
}

std::optional<Credentials> CredentialFiles::find(std::string_view registry) const {
  for (const auto& file : files_) {
    std::error_code ignored;
    if (!fs::exists(file, ignored)) continue;
    if (auto found = within(file.string(), [&] { return in_document(read_document(file), registry); }))
      return found;
  }
  return {};
}

void CredentialFiles::remember(std::string_view registry, const Credentials& credentials) const {
  formats::Table document, entries;
  if (fs::exists(own_)) {
    document = read_document(own_).table();
    const formats::Value before(document);
    if (const auto* there = before.find("auths")) entries = without(there->table(), registry);
  }
  formats::Table entry;
  if (!credentials.identity_token.empty())
    entry.set("identitytoken", credentials.identity_token);
  else
    entry.set("auth", base64(credentials.user + ":" + credentials.password));
  entries.set(std::string(registry), std::move(entry));
  document.set("auths", std::move(entries));
  fs::create_directories(own_.parent_path());
  write_file(own_, formats::dump_json(document, formats::Layout::pretty) + "\n", 0600);
}

bool CredentialFiles::forget(std::string_view registry) const {
  if (!fs::exists(own_)) return false;
  formats::Table document = read_document(own_).table();
  const formats::Value before(document);
  const auto* there = before.find("auths");
  if (there == nullptr) return false;
  auto entries = without(there->table(), registry);
  if (entries.size() == there->table().size()) return false;
  document.set("auths", std::move(entries));
  write_file(own_, formats::dump_json(document, formats::Layout::pretty) + "\n", 0600);
  return true;
}

std::string base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '\0');
  std::string terminated(text.size() + 1, '\0');  // OpenSSL ends it with a NUL
  ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(terminated.data()),
                    reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  return terminated.substr(0, text.size());
}

std::optional<std::string> from_base64(std::string_view text) {
  text = trim(text);
  if (text.empty() || text.size() % 4 != 0) return {};
  std::string bytes(text.size() / 4 * 3, '\0');
  const int size =
      ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                        reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) return {};
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  bytes.resize(static_cast<std::size_t>(size) - padding);
  return bytes;
}

}  // namespace longship::image
