// SPDX-License-Identifier: Apache-2.0
#include "population.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/random.h"

namespace longship::study {

std::optional<std::size_t> take_over_from(std::span<const double> losses, std::size_t member, double share,
                                          std::uint64_t seed) {
  if (!(share > 0 && share <= 0.5))
    throw Error(Failure::usage,
                "the share of a population that is replaced is above 0 and at most 0.5, not {}", share);
  if (member >= losses.size()) throw Error(Failure::usage, "the population has no member {}", member);
  const auto few = static_cast<std::size_t>(std::floor(share * static_cast<double>(losses.size())));
  if (few == 0) return {};
  const auto value = [&](std::size_t index) { return std::isnan(losses[index]) ? HUGE_VAL : losses[index]; };
  std::vector<std::size_t> order(losses.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return value(a) < value(b); });
  const auto place = static_cast<std::size_t>(std::find(order.begin(), order.end(), member) - order.begin());
  if (place + few < losses.size()) return {};
  return order[Random({seed, member}).below(few)];
}

Point explored(const History& history, const Point& from, double distance, double anew, std::uint64_t seed) {
  Point point;
  for (const auto& [id, value] : from) {
    const auto& parameter = history.parameter(id);
    Random random({seed, hash_of(parameter.name)});
    double position = parameter.axis.position(value);
    if (random.uniform() < anew)
      position = random.uniform();
    else if (!parameter.axis.is_category())
      position += random.uniform() < 0.5 ? -distance : distance;
    point.push_back({id, parameter.axis.value(position)});
  }
  return point;
}

}  // namespace longship::study
