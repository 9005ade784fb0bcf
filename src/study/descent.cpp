// SPDX-License-Identifier: Apache-2.0
#include "descent.h"

#include <algorithm>
#include <cmath>
#include <deque>

namespace longship::study {
namespace {

using Values = std::vector<double>;

double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

class Memory {
 public:
  void keep(Values step, Values change) {
    const double curvature = dot(step, change);
    if (!(curvature > 1e-12 * dot(change, change))) return;
    pairs_.push_back({std::move(step), std::move(change), 1 / curvature});
    if (pairs_.size() > 8) pairs_.pop_front();
  }

  // The gradient times the inverse of the curvature seen so far.
  [[nodiscard]] Values direction(Values gradient) const {
    std::vector<double> shares(pairs_.size());
    for (std::size_t i = pairs_.size(); i-- > 0;) {
      shares[i] = pairs_[i].scale * dot(pairs_[i].step, gradient);
      add(gradient, -shares[i], pairs_[i].change);
    }
    if (!pairs_.empty()) {
      const auto& last = pairs_.back();
      const double factor = 1 / (last.scale * dot(last.change, last.change));
      for (auto& value : gradient) value *= factor;
    }
    for (std::size_t i = 0; i < pairs_.size(); ++i)
      add(gradient, shares[i] - pairs_[i].scale * dot(pairs_[i].change, gradient), pairs_[i].step);
    return gradient;
  }
  [[nodiscard]] bool empty() const { return pairs_.empty(); }
  void forget() { pairs_.clear(); }

 private:
  struct Pair {
    Values step, change;
    double scale;
  };
  static void add(Values& to, double factor, const Values& what) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * what[i];
  }
  std::deque<Pair> pairs_;
};

// Where the wall is in the way, there is nothing to gain.
void stop_at_walls(const Box& box, const Values& x, const Values& gradient, Values& direction) {
  for (std::size_t i = 0; i < x.size(); ++i)
    if ((x[i] <= box.low[i] && gradient[i] > 0) || (x[i] >= box.high[i] && gradient[i] < 0)) direction[i] = 0;
}

}  // namespace

double descend(const Smooth& function, const Box& box, Values& x, DescentSettings settings) {
  const auto size = x.size();
  for (std::size_t i = 0; i < size; ++i) x[i] = std::clamp(x[i], box.low[i], box.high[i]);
  Values gradient(size), next(size), next_gradient(size);
  double value = function(x, gradient);
  Memory memory;
  int left = settings.evaluations - 1;
  while (left > 0) {
    Values free = gradient;
    stop_at_walls(box, x, gradient, free);
    double steepest = 0;
    for (const double slope : free) steepest = std::max(steepest, std::abs(slope));
    if (!(steepest > settings.tolerance)) break;

    Values direction = memory.direction(free);
    stop_at_walls(box, x, gradient, direction);
    if (!(dot(direction, gradient) > 0)) {
      memory.forget();
      direction = free;
    }
    double length = memory.empty() ? std::min(1.0, 0.2 / steepest) : 1;
    bool moved = false;
    for (int tries = 0; tries < 12 && left > 0 && !moved; ++tries, length *= 0.4) {
      double promised = 0;
      for (std::size_t i = 0; i < size; ++i) {
        next[i] = std::clamp(x[i] - length * direction[i], box.low[i], box.high[i]);
        promised += gradient[i] * (next[i] - x[i]);
      }
      --left;
      const double there = function(next, next_gradient);
      if (!std::isfinite(there) || there > value + 1e-4 * promised) continue;
      Values step(size), change(size);
      for (std::size_t i = 0; i < size; ++i) {
        step[i] = next[i] - x[i];
        change[i] = next_gradient[i] - gradient[i];
      }
      moved = dot(step, step) > 1e-20;
      memory.keep(std::move(step), std::move(change));
      x.swap(next);
      gradient.swap(next_gradient);
      value = there;
      if (!moved) return value;
    }
    if (!moved) {
      if (memory.empty()) break;
      memory.forget();  // the curvature was misleading: once more along the gradient
    }
  }
  return value;
}

}  // namespace longship::study
