// SPDX-License-Identifier: Apache-2.0
// Who we are to a registry. Several registries may each have their own user; the files are those that other
// tools write, so whoever has logged in with one of them need not do it again:
//
//   $LONGSHIP_REGISTRY_AUTH, or longship/auth.json in $XDG_CONFIG_HOME or ~/.config: our own, written by
//   login $REGISTRY_AUTH_FILE, $XDG_RUNTIME_DIR/containers/auth.json: skopeo, podman, buildah config.json in
//   $DOCKER_CONFIG or ~/.docker: docker, with its credential helpers
//
// The first that knows the registry counts. What is for one host is never sent to another.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"
#include "formats/document.h"

namespace longship::image {

struct Credentials {
  std::string user, password;
  std::string identity_token;  // instead of both: traded for a token
};

class CredentialFiles {
 public:
  explicit CredentialFiles(const Environment& environment = current_environment());

  [[nodiscard]] std::optional<Credentials> find(std::string_view registry) const;
  // Into our own file, 0600, beside what is there.
  void remember(std::string_view registry, const Credentials& credentials) const;
  bool forget(std::string_view registry) const;  // false: it was not there
  [[nodiscard]] const std::filesystem::path& own() const { return own_; }

 private:
  std::filesystem::path own_;
  std::vector<std::filesystem::path> files_;  // ours first
};

namespace detail {
// What one of the files says of a registry: who we are, or which program is to be asked. Fuzzed by
// tests/fuzz/registry_words_fuzz.cpp.
struct Entry {
  std::optional<Credentials> credentials;
  std::string helper;  // docker-credential-…
};
[[nodiscard]] Entry entry_for(const formats::Value& document, std::string_view registry);
}  // namespace detail

[[nodiscard]] std::string base64(std::string_view bytes);
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace longship::image
