// SPDX-License-Identifier: Apache-2.0
#include "grid.h"

#include "base/error.h"

namespace longship::sweep {
namespace {

constexpr std::size_t most = 1'000'000;

double value_at(const study::Domain& domain, std::size_t index, std::size_t points) {
  if (study::count(domain) > 0) return study::nth(domain, index);
  const double place = points == 1 ? 0.5 : static_cast<double>(index) / static_cast<double>(points - 1);
  return study::Axis(domain).value(place);
}

void add_points(const Space& space, std::size_t points, std::size_t next, formats::Table values,
                std::vector<formats::Table>& all) {
  if (next == space.parameters.size()) {
    if (broken_rule(space, values) != nullptr) return;
    if (all.size() == most)
      throw Error(Failure::usage, "the grid has more than {} points: take larger steps", most);
    all.push_back(std::move(values));
    return;
  }
  const auto& parameter = space.parameters[next];
  if (!exists(parameter, values)) {
    add_points(space, points, next + 1, std::move(values), all);
    return;
  }
  const auto known = study::count(parameter.domain);
  const auto count = known > 0 ? known : points;
  for (std::size_t i = 0; i < count; ++i) {
    auto with = values;
    with.set(parameter.name, value_of(parameter.domain, value_at(parameter.domain, i, points)));
    add_points(space, points, next + 1, std::move(with), all);
  }
}

}  // namespace

std::vector<formats::Table> grid_points(const Space& space, std::size_t points) {
  std::vector<formats::Table> all;
  add_points(space, points, 0, space.fixed, all);
  return all;
}

}  // namespace longship::sweep
