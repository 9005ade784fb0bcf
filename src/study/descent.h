// SPDX-License-Identifier: Apache-2.0
// The minimum of a smooth function in a box, from where one begins: L-BFGS (Nocedal 1980), projected onto the
// box.
#pragma once
#include <functional>
#include <span>
#include <vector>

namespace longship::study {

struct Box {
  std::vector<double> low, high;
};

// Returns the value and writes the gradient. A value that is not finite is a place to keep away from.
using Smooth = std::function<double(std::span<const double> x, std::span<double> gradient)>;

struct DescentSettings {
  int evaluations = 60;
  double tolerance = 1e-6;  // it ends when no component of the projected gradient is larger
};

// Moves x to the best place found, and returns the value there.
double descend(const Smooth& function, const Box& box, std::vector<double>& x, DescentSettings settings = {});

}  // namespace longship::study
