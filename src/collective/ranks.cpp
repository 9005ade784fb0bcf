// SPDX-License-Identifier: Apache-2.0
#include "ranks.h"

#include <fmt/core.h>

namespace longship::collective {

std::string listed(const std::vector<int>& ranks) {
  constexpr std::size_t shown = 8;
  std::string text;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i == shown && ranks.size() > shown + 1)
      return fmt::format("{} and {} more", text, ranks.size() - shown);
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

std::string the_ranks(const std::vector<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + listed(ranks);
}

}  // namespace longship::collective
