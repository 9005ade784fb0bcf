// SPDX-License-Identifier: Apache-2.0
#include "surroundings.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "launch/launch.h"

namespace longship::pilot {
namespace {

constexpr std::size_t most_nodes = 1'000'000;

std::optional<std::uint64_t> number(std::string_view digits) {
  std::uint64_t value = 0;
  const auto* end = digits.data() + digits.size();
  const auto [rest, problem] = std::from_chars(digits.data(), end, value);
  if (problem != std::errc() || rest != end) return {};
  return value;
}

std::string padded(std::uint64_t value, std::size_t width) {
  auto digits = std::to_string(value);
  return std::string(width - std::min(width, digits.size()), '0') + digits;
}

void expand_range(std::string_view prefix, std::string_view range, std::string_view suffix,
                  std::vector<std::string>& nodes) {
  const auto hyphen = range.find('-');
  const auto first = range.substr(0, hyphen);
  const auto from = number(first), to = hyphen == range.npos ? from : number(range.substr(hyphen + 1));
  if (!from || !to || *to < *from || *to - *from >= most_nodes - nodes.size())
    throw Error("\"{}\" is no range of nodes", printable(range));
  for (auto value = *from; value <= *to; ++value)
    nodes.push_back(std::string(prefix) + padded(value, first.size()) + std::string(suffix));
}

void expand_part(std::string_view part, std::vector<std::string>& nodes) {
  const auto open = part.find('[');
  const auto close = part.find(']');
  if (open == part.npos && close == part.npos) {
    if (part.empty()) throw Error("a node without a name");
    nodes.emplace_back(part);
    return;
  }
  if (open == part.npos || close == part.npos || close < open || part.find('[', open + 1) != part.npos)
    throw Error("\"{}\" is no list of nodes", printable(part));
  for (const auto range : split(part.substr(open + 1, close - open - 1), ','))
    expand_range(part.substr(0, open), range, part.substr(close + 1), nodes);
}

std::string variable(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

}  // namespace

std::vector<std::string> expand_nodes(std::string_view list) {
  std::vector<std::string> nodes;
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t at = 0; at <= list.size(); ++at) {
    if (at < list.size() && list[at] == '[') ++depth;
    if (at < list.size() && list[at] == ']') --depth;
    if (at < list.size() && (list[at] != ',' || depth > 0)) continue;
    expand_part(list.substr(start, at - start), nodes);
    start = at + 1;
  }
  return nodes;
}

std::vector<std::string> nodes_of(const Environment& environment) {
  for (const auto* name : {"SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
    const auto list = variable(environment, name);
    if (list.empty() || variable(environment, "SLURM_JOB_ID").empty()) continue;
    return within(name, [&] { return expand_nodes(list); });
  }
  return {launch::name_of_this_node()};
}

std::optional<std::chrono::seconds> time_left(std::chrono::seconds ordered, const Environment& environment,
                                              std::chrono::system_clock::time_point now) {
  std::optional<std::chrono::seconds> left;
  if (ordered.count() > 0) left = ordered;
  const auto text =
      variable(environment, "SLURM_JOB_END_TIME");  // seconds since 1970, on this very node's clock
  if (const auto end = number(text); !text.empty() && end) {
    const auto until =
        std::chrono::seconds(*end) - std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch());
    if (until.count() < 366L * 86400) left = left ? std::min(*left, until) : until;
  }
  return left;
}

}  // namespace longship::pilot
