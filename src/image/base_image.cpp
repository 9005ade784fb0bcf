// SPDX-License-Identifier: Apache-2.0
#include "base_image.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "reference.h"

namespace longship::image {
namespace {

Error missing(const store::Store& store, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& image : store.list()) names.push_back(image.name);
  const std::string begin =
      fmt::format("FROM {}: there is no such image in {}{}; bring it first: ", printable(name),
                  store.location().string(), suggestion(name, names));
  const std::string pull = fmt::format("longship image pull REGISTRY/{0} -t {0}", name);
  if (name.starts_with("debian:"))
    return Error("{0}longship image bootstrap {1} -t {1}, or: {2}", begin, name, pull);
  return Error("{}{}; longship image bootstrap makes a Debian", begin, pull);
}

bool names_registry(const std::string& name) {
  const auto slash = name.find('/');
  return slash != std::string::npos && name.substr(0, slash).find_first_of(".:") != std::string::npos;
}

// With a port or a digest it is no name that an image could have here.
bool can_be_here(const std::string& name) {
  return std::count(name.begin(), name.end(), ':') < 2 && name.find('@') == std::string::npos;
}

}  // namespace

store::Image find_base(const store::Store& store, const std::string& name) {
  if (names_registry(name) && !(can_be_here(name) && store.has(name)))
    throw Error(
        "FROM {0}: an image of a registry is brought first: longship image pull {0}; then it is FROM {1}",
        printable(name), parse_reference(name).short_name());
  if (!store.has(name)) throw missing(store, name);
  return store.find(name);
}

}  // namespace longship::image
