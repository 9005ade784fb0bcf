// SPDX-License-Identifier: Apache-2.0
#include "exhausted.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace longship::study {
namespace {

// So many trials of a basin that brought no more than that, in deviations of all targets, are its last ones.
constexpr std::size_t last_trials = 8;
constexpr double least_gain = 0.002;

bool is_at_its_end(const std::vector<double>& targets) {
  if (targets.size() <= last_trials) return false;
  const auto recent = targets.end() - static_cast<std::ptrdiff_t>(last_trials);
  return *std::min_element(targets.begin(), recent) - *std::min_element(recent, targets.end()) <= least_gain;
}

}  // namespace

bool Lengths::is_near(std::span<const double> a, std::span<const double> b) const {
  double square = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double apart = choices[i] ? (a[i] == b[i] ? 0.0 : 1.0) : a[i] - b[i];
    square += weights[i] * apart * apart;
  }
  return square < 1;
}

Exhausted::Exhausted(Lengths lengths, std::span<const double> places, std::span<const double> targets)
    : lengths_(std::move(lengths)), left_(targets.size()) {
  const auto d = lengths_.dimensions();
  const auto place = [&](std::size_t index) { return places.subspan(index * d, d); };
  std::iota(left_.begin(), left_.end(), 0);
  while (!left_.empty()) {
    const auto best = *std::min_element(left_.begin(), left_.end(),
                                        [&](auto a, auto b) { return targets[a] < targets[b]; });
    std::vector<double> own;
    std::vector<std::size_t> others;
    for (const auto index : left_) {
      if (lengths_.is_near(place(index), place(best)))
        own.push_back(targets[index]);
      else
        others.push_back(index);
    }
    if (!is_at_its_end(own)) return;
    deepest_.emplace_back(place(best).begin(), place(best).end());
    left_ = std::move(others);
  }
}

bool Exhausted::contains(std::span<const double> place) const {
  return std::any_of(deepest_.begin(), deepest_.end(),
                     [&](const auto& deepest) { return lengths_.is_near(place, deepest); });
}

}  // namespace longship::study
