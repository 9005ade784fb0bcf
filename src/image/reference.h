// SPDX-License-Identifier: Apache-2.0
// An image in a registry, as people write it: registry.example.org:5000/team/gan3d:v2@sha256:…
#pragma once
#include <string>
#include <string_view>

namespace longship::image {

struct Reference {
  std::string registry;    // host, with its port if one is given
  std::string repository;  // "team/gan3d"
  std::string tag;         // "latest" if neither tag nor digest is given
  std::string digest;      // decides, if it is there

  // The repository as its registry knows it: of one registry names without a slash are "library/NAME".
  [[nodiscard]] std::string full_repository() const;
  [[nodiscard]] const std::string& object() const { return digest.empty() ? tag : digest; }
  [[nodiscard]] std::string text() const;
  // What it is called here: "gan3d:v2", and its variant for an architecture "gan3d:v2-aarch64".
  [[nodiscard]] std::string short_name(std::string_view architecture = {}) const;
};

// The registry has to be named: which one a bare name meant would depend on who asks. Error with
// Failure::usage.
[[nodiscard]] Reference parse_reference(std::string_view text);

}  // namespace longship::image
