// SPDX-License-Identifier: Apache-2.0
// The evolution strategy that adapts its covariance (CMA-ES; Hansen's tutorial, 2016): a normal distribution
// that moves and takes the shape of the valley it goes through. Pure: positions in [0, 1] in, positions out.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "base/random.h"

namespace longship::study {

class Cma {
 public:
  Cma(std::vector<double> mean, double deviation, std::size_t population);
  Cma(Cma&&) noexcept;
  Cma& operator=(Cma&&) noexcept;
  ~Cma();

  // Inside the box. The first try takes these normal numbers, one for each dimension, those after it chance.
  // Steps are so many times as long as the distribution has them.
  [[nodiscard]] std::vector<double> sample(std::vector<double> normals, Random& random,
                                           double stretch = 1) const;
  struct Result {
    double loss;
    std::vector<double> position;
  };
  void update(std::vector<Result> generation);  // as many as the population has
  // Nothing more is to be had from going on: it has shrunk to a point, or does not get better.
  [[nodiscard]] bool is_done() const;
  [[nodiscard]] std::size_t population() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] std::size_t usual_population(std::size_t dimensions);

}  // namespace longship::study
