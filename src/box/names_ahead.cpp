// SPDX-License-Identifier: Apache-2.0
#include "names_ahead.h"

#include <utility>

#include "base/text.h"

namespace longship::box {

void walk_first(NamesAhead& ahead, std::string_view path) {
  const auto names = split(path, '/');
  for (auto name = names.rbegin(); name != names.rend(); ++name)
    if (!name->empty() && *name != ".") ahead.emplace_back(*name);
}

std::string next_name(NamesAhead& ahead) {
  std::string name = std::move(ahead.back());
  ahead.pop_back();
  return name;
}

}  // namespace longship::box
