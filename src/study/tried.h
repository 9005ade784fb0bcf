// SPDX-License-Identifier: Apache-2.0
// What trials were given already, where that is all they are given and nothing of it is continuous: there a
// second try tells nothing new. Samplers ask before they propose.
#pragma once
#include <cstddef>
#include <map>
#include <vector>

#include "history.h"

namespace longship::study {

class Tried {
 public:
  // The same parameters each time. As long as trials have others too, or one is continuous, nothing counts as
  // tried.
  void follow(const History& history, const std::vector<ParameterId>& space);
  // One value for each parameter. Also what runs, and what failed: it would fail again.
  [[nodiscard]] bool contains(const std::vector<double>& point) const { return counts_.contains(point); }

 private:
  std::size_t cursor_ = 0;                   // in the history's changes
  std::vector<std::vector<double>> points_;  // of each trial; empty: not known
  std::map<std::vector<double>, std::size_t> counts_;
};

}  // namespace longship::study
