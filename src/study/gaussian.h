// SPDX-License-Identifier: Apache-2.0
// A Gaussian process: what a function may be between the points where it is known. Matérn's kernel with 5/2,
// one length for each dimension, for what all dimensions do together; and the sum of one for each dimension,
// over shorter lengths, for what each does by itself (Duvenaud et al. 2011): a function that is such a sum
// has many minima, of which no trial is near the best in all dimensions. All is fitted by the gradient of the
// posterior; choices are alike or not. The prior takes lengths for about as long as the space is wide, and
// rules out few.
//
// Eigen stays in the .cpp.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace longship::study {

struct Prediction {
  double mean = 0, deviation = 1;
  std::vector<double> mean_slope, deviation_slope;  // only if asked for
};

class GaussianProcess {
 public:
  // One entry for each dimension: whether it is a choice, which has values 0, 1, 2, … and no slope.
  explicit GaussianProcess(std::vector<bool> choices);
  GaussianProcess(GaussianProcess&&) noexcept;
  ~GaussianProcess();

  // Points one behind the other, in [0, 1]; targets around 0, their deviation about 1.
  void know(std::span<const double> points, std::span<const double> targets);
  // Looks for likelier lengths, from those it has; so many evaluations of the likelihood at most.
  void fit(int evaluations, bool noiseless);
  // The same process, but one that believes of no dimension that it hardly matters: lengths are at most this.
  [[nodiscard]] GaussianProcess wary(double longest) const;
  // After know() or fit().
  [[nodiscard]] Prediction predict(std::span<const double> point, bool slopes) const;
  // The same for many, without slopes: quicker.
  [[nodiscard]] std::vector<Prediction> predict_all(std::span<const double> points) const;
  // log of the posterior density of the logarithms of lengths^-2, of both variances, of how much sharper the
  // dimensions by themselves are, and of the noise; and its gradient: for tests.
  [[nodiscard]] double log_posterior(std::span<const double> logs, std::span<double> gradient) const;
  [[nodiscard]] std::vector<double> logs() const;
  [[nodiscard]] std::vector<double> weights() const;  // of each dimension: length^-2

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace longship::study
