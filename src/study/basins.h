// SPDX-License-Identifier: Apache-2.0
// Where else a search may go down: a trial that is better than all that are near it stands in a basin of its
// own, which may be deeper than that of the best. A search that improves on the best alone goes on in the one
// where it happened to be early, and looks elsewhere only where nothing is known: in corners.
//
// Places are positions on axes, in [0, 1]; of a category the choice.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/random.h"
#include "domain.h"

namespace longship::study {

struct Landscape {
  std::vector<Axis> axes;
  std::vector<double> places;  // one behind the other, the oldest first
  std::vector<double> losses;  // of each

  [[nodiscard]] std::span<const double> place(std::size_t index) const {
    return std::span(places).subspan(index * axes.size(), axes.size());
  }
  // In the dimension where they differ most. Choices do not count: which is better the others tell.
  [[nodiscard]] double distance(std::size_t a, std::size_t b) const;
};

struct Basin {
  std::size_t deepest = 0;  // index of its best trial
  double reach = 0;         // so far in each dimension it is likely another than that of better ones
};

// The best of the basins without the best of all that is worth another trial: as long as the last few brought
// it nearer to the best of all. Nothing if there is none.
[[nodiscard]] std::optional<Basin> basin_to_refine(const Landscape& land);

// The ones nearest to a trial, that one first; at most so many.
[[nodiscard]] std::vector<std::size_t> nearest_to(const Landscape& land, std::size_t index,
                                                  std::size_t count);

// Random places in a basin, some of them near its best trial; one behind the other.
[[nodiscard]] std::vector<double> places_in(const Landscape& land, const Basin& basin, std::size_t count,
                                            Random& random);

}  // namespace longship::study
