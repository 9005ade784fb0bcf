// SPDX-License-Identifier: Apache-2.0
// A Parzen estimator: the density of observed points as a mixture with one kernel for each, a product of
// truncated normals and of nearly certain choices, and a wide one for what has not been seen yet. Bandwidths
// and weights as in Bergstra et al. (2011) with the names of Watanabe (2023): a kernel reaches to its farther
// neighbour, but never less than a share of the range that shrinks with the number of points ("magic clip").
// Points count alike, or the newest 25 fully and older ones less the older they are, or as is said.
//
// It is kept up to date, never fitted anew: a point that comes or goes changes the bandwidths of its
// neighbours only, and those are found in a sorted list for each dimension. What is left to do for each
// question is arithmetic over flat arrays of floats.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/random.h"
#include "domain.h"

namespace longship::study {

class Parzen {
 public:
  enum class Weights { newest_more, equal, given };

  // The least width is 1 / (points + 2)^sharpness of the range, but never below `narrowest`, which itself
  // shrinks with the number of points where there are more than 50, to 1 %.
  Parzen(std::vector<Axis> axes, Weights weights, double sharpness = 1, double narrowest = 0.01);

  // Slots are any numbers of the caller's, ascending with age; a slot holds one point or none. Points have
  // one value per axis.
  void insert(std::size_t slot, std::span<const double> point);
  void erase(std::size_t slot);
  // With Weights::given: those of slots that hold a point; of others they are forgotten. The wide kernel
  // has 1.
  void give_weights(std::span<const std::pair<std::size_t, double>> weights);
  [[nodiscard]] bool has(std::size_t slot) const;
  [[nodiscard]] std::size_t size() const { return size_; }

  // To be called after changes, before the two below.
  void prepare();
  // Appends one point, from the kernel that stands at this share, in [0, 1), of all their weights.
  void sample(Random& random, std::vector<double>& points, double share) const;
  // Of each of the points, which lie one behind the other.
  [[nodiscard]] std::vector<double> log_density(std::span<const double> points) const;

 private:
  enum class Form { continuous, cells, category };
  struct Dimension {
    Axis axis;
    Form form;
    std::vector<std::pair<double, std::uint32_t>> order;      // position, place; without the wide kernel
    std::vector<double> value, position, width;               // of each place
    std::vector<float> scale, shift, norm;                    // exponent = -(x * scale - shift)^2, plus norm
    std::vector<float> packed_scale, packed_shift;            // of each term
    std::vector<std::uint32_t> row;                           // cells: kernels alike share one
    std::map<std::pair<double, double>, std::uint32_t> rows;  // (position, width) -> row
    std::vector<std::pair<double, double>> kernels;           // of each row
  };

  [[nodiscard]] static Form form_of(const Axis& axis);
  void set_kernel(Dimension& dimension, std::uint32_t place, double position, double width) const;
  void update_width(Dimension& dimension, std::size_t rank) const;
  void update_around(Dimension& dimension, std::size_t rank) const;
  [[nodiscard]] double least_width() const;
  void weigh();
  void pack();
  void add_terms(const Dimension& dimension, double value, std::span<float> terms) const;
  void add_cells(const Dimension& dimension, double value, std::span<float> terms) const;
  void add_choice(const Dimension& dimension, double value, std::span<float> terms) const;

  std::vector<Dimension> dimensions_;
  Weights weights_;
  double sharpness_, narrowest_;
  std::vector<std::uint8_t> present_;  // of each place; place 0 is the wide kernel, slot s has place s + 1
  std::vector<double> given_;          // weight of each place
  std::vector<double> cumulated_;      // weights, for sampling
  std::vector<float> base_;            // log weight and norms of all dimensions; very low where no point is
  // Places that hold a point, as the terms of a density have them: the good ones are few among many trials.
  std::vector<std::uint32_t> terms_;
  std::vector<float> packed_base_;
  std::size_t size_ = 0;
  double width_floor_ = 0;  // that the widths were computed with
};

}  // namespace longship::study
