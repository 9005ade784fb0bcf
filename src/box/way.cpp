// SPDX-License-Identifier: Apache-2.0
#include "way.h"

#include <utility>

#include "base/text.h"

namespace longship::box {

void walk_first(Way& way, std::string_view path) {
  const auto names = split(path, '/');
  for (auto name = names.rbegin(); name != names.rend(); ++name)
    if (!name->empty() && *name != ".") way.emplace_back(*name);
}

std::string next_name(Way& way) {
  std::string name = std::move(way.back());
  way.pop_back();
  return name;
}

}  // namespace longship::box
