// SPDX-License-Identifier: Apache-2.0
// Basins that a search has been to the end of. A Gaussian process that has learnt most of what it knows in
// one basin believes that what does not matter there matters nowhere; then it is sure that there is nothing
// else, and improves the last digits for as long as one lets it. Where the last few trials of the best basin
// brought nothing, that basin counts as exhausted, and all its trials are taken away: the next best is that
// of what is left. (To begin anew when stuck is what evolution strategies do; here the trials outside are
// kept.)
//
// Places are positions on axes, in [0, 1]; of a category the choice. Everything follows from the trials.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace longship::study {

// How far apart places are for a process.
struct Lengths {
  std::vector<double> weights;  // of each dimension: length^-2
  std::vector<bool> choices;

  [[nodiscard]] std::size_t dimensions() const { return weights.size(); }
  [[nodiscard]] bool is_near(std::span<const double> a, std::span<const double> b) const;  // within a length
};

class Exhausted {
 public:
  // Trials in the order in which they were begun; targets around 0, their deviation about 1.
  Exhausted(Lengths lengths, std::span<const double> places, std::span<const double> targets);

  [[nodiscard]] bool contains(std::span<const double> place) const;
  [[nodiscard]] const std::vector<std::size_t>& left() const { return left_; }  // the trials outside

 private:
  Lengths lengths_;
  std::vector<std::vector<double>> deepest_;  // of each basin
  std::vector<std::size_t> left_;
};

}  // namespace longship::study
