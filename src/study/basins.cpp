// SPDX-License-Identifier: Apache-2.0
#include "basins.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace longship::study {
namespace {

constexpr double far_apart = 0.25;  // nearer to a better trial than this is in the same basin
constexpr double own_ground = 0.6;  // of the way to a better trial: a little beyond the middle
constexpr double hopeless = 0.9;    // of all trials: what is worse than so many is no beginning
// So many trials without much gain end a basin's turn: of what it lacks to the best they brought less than
// this share.
constexpr std::size_t patience = 5;
constexpr double much = 0.25;

std::vector<std::size_t> best_first(const std::vector<double>& losses) {
  std::vector<std::size_t> order(losses.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return losses[a] < losses[b]; });
  return order;
}

struct Division {
  std::vector<std::size_t> deepest;  // of each trial's basin
  std::vector<Basin> basins;         // the best first, without that of the best of all
};

// Each trial belongs to the nearest better one, unless that is far (nearest-better clustering: Preuss 2010).
Division divided(const Landscape& land, const std::vector<std::size_t>& order) {
  Division division{std::vector<std::size_t>(order.size(), order.front()), {}};
  for (std::size_t rank = 1; rank < order.size(); ++rank) {
    const auto here = order[rank];
    std::pair<double, std::size_t> nearest{HUGE_VAL, here};
    for (std::size_t i = 0; i < rank; ++i)
      nearest = std::min(nearest, std::pair(land.distance(here, order[i]), order[i]));
    const bool alone = nearest.first >= far_apart;
    division.deepest[here] = alone ? here : division.deepest[nearest.second];
    if (alone) division.basins.push_back({here, own_ground * nearest.first});
  }
  return division;
}

bool is_refined(const std::vector<double>& own, double least) {  // losses in the order of trials
  if (own.size() <= patience) return false;
  const auto recent = static_cast<std::ptrdiff_t>(patience);
  const double before = *std::min_element(own.begin(), own.end() - recent);
  const double now = *std::min_element(own.begin(), own.end());
  return before - now <= much * (now - least);
}

}  // namespace

double Landscape::distance(std::size_t a, std::size_t b) const {
  const auto d = axes.size();
  double most = 0;
  for (std::size_t i = 0; i < d; ++i) {
    if (!axes[i].is_category()) most = std::max(most, std::abs(places[a * d + i] - places[b * d + i]));
  }
  return most;
}

std::optional<Basin> basin_to_refine(const Landscape& land) {
  if (land.losses.empty()) return {};
  const auto order = best_first(land.losses);
  const double least = land.losses[order.front()];
  const double bad =
      land.losses[order[static_cast<std::size_t>(hopeless * static_cast<double>(order.size()))]];
  const auto division = divided(land, order);
  for (const auto& basin : division.basins) {
    const double loss = land.losses[basin.deepest];
    if (loss > bad || !std::isfinite(loss)) break;
    std::vector<double> own;
    for (std::size_t i = 0; i < order.size(); ++i)
      if (division.deepest[i] == basin.deepest) own.push_back(land.losses[i]);
    if (!is_refined(own, least)) return basin;
  }
  return {};
}

std::vector<std::size_t> nearest_to(const Landscape& land, std::size_t index, std::size_t count) {
  std::vector<std::pair<double, std::size_t>> far;
  for (std::size_t i = 0; i < land.losses.size(); ++i)
    far.emplace_back(i == index ? -1 : land.distance(index, i), i);
  std::sort(far.begin(), far.end());
  std::vector<std::size_t> nearest;
  for (const auto& [_, i] : far)
    if (nearest.size() < count) nearest.push_back(i);
  return nearest;
}

std::vector<double> places_in(const Landscape& land, const Basin& basin, std::size_t count, Random& random) {
  const auto from = land.place(basin.deepest);
  std::vector<double> places;
  for (std::size_t i = 0; i < count; ++i) {
    const double reach = basin.reach * std::pow(0.6, static_cast<double>(i % 6));
    for (std::size_t k = 0; k < from.size(); ++k) {
      const auto& axis = land.axes[k];
      const double to = std::clamp(from[k] + reach * (2 * random.uniform() - 1), 0.0, 1.0);
      const double settled = axis.is_stepped() ? axis.position(axis.value(to)) : to;
      places.push_back(axis.is_category() ? from[k] : settled);
    }
  }
  return places;
}

}  // namespace longship::study
