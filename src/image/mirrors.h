// SPDX-License-Identifier: Apache-2.0
// Where else an image may be fetched from than the registry in its name, as a person or a centre wrote it
// into registries.toml (docs/images.md):
//
//   $LONGSHIP_REGISTRIES, or longship/registries.toml in $XDG_CONFIG_HOME or ~/.config, or else
//   /etc/longship/registries.toml; the first that is there counts
//
// A mirror is another host with credentials of its own: nothing that is for the registry is sent to it.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"
#include "formats/document.h"
#include "reference.h"

namespace longship::image {

class Mirrors {
 public:
  Mirrors() = default;                                // none
  explicit Mirrors(const formats::Value& document);   // an Error that names the line
  static Mirrors of(const Environment& environment);  // from the file, if there is one

  // Where to ask, in this order: the mirrors of the reference's registry, then itself.
  [[nodiscard]] std::vector<Reference> places(const Reference& reference) const;
  [[nodiscard]] bool plain_http(std::string_view registry) const;

 private:
  struct Registry {
    std::vector<std::string> mirrors;  // HOST[:PORT][/PREFIX]
    bool plain_http = false;
  };
  std::map<std::string, Registry, std::less<>> registries_;
};

}  // namespace longship::image
