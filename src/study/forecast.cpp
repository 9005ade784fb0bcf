// SPDX-License-Identifier: Apache-2.0
#include "forecast.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "improvement.h"

namespace longship::study {
namespace {

using Eigen::Index;
using Column = Eigen::ArrayXf;
using Table = Eigen::ArrayXXf;  // one column for each dimension
using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

constexpr double noise = 1e-4;   // of the variance of the losses: also keeps the covariance invertible
constexpr float unlike = 0.25F;  // squared distance of two choices
constexpr float least_spread = 1e-3F;

// Two trials are alike by 1 / (1 + distance^2), a mixture of normal kernels of many lengths (Rasmussen and
// Williams 2006, 4.2.1), which costs no exponential.
struct Kernel {
  float apart;  // the share of dimensions by themselves, where the others do not matter
  float length;
};
constexpr std::array<Kernel, 6> kernels{
    {{0, 0.2F}, {0, 0.5F}, {0, 1.25F}, {0.8F, 0.2F}, {0.8F, 0.5F}, {0.8F, 1.25F}}};

// Where points are, in spreads of the known ones; of a category the choice.
struct Map {
  const std::vector<Axis>& axes;
  Column spread;

  explicit Map(const std::vector<Axis>& all)
      : axes(all), spread(Column::Ones(static_cast<Index>(all.size()))) {}

  [[nodiscard]] Index dimensions() const { return spread.size(); }
  [[nodiscard]] bool is_category(Index dimension) const {
    return axes[static_cast<std::size_t>(dimension)].is_category();
  }

  [[nodiscard]] Table place(std::span<const double> values) const {
    Table points(static_cast<Index>(values.size()) / dimensions(), dimensions());
    auto value = values.begin();
    for (Index row = 0; row < points.rows(); ++row)
      for (Index i = 0; i < dimensions(); ++i, ++value)
        points(row, i) = static_cast<float>(
            is_category(i) ? *value : axes[static_cast<std::size_t>(i)].position(*value) / spread[i]);
    return points;
  }

  // 1 where points are spread evenly over the whole range.
  void measure(const Table& points) {
    for (Index i = 0; i < dimensions(); ++i)
      if (!is_category(i))
        spread[i] = std::sqrt(12 * (points.col(i) - points.col(i).mean()).square().mean()) + least_spread;
  }

  // Of the first `count` points from another, by dimension.
  void squared_distances(const Table& points, Index count, const Table& others, Index other,
                         Eigen::Ref<Table> to) const {
    for (Index i = 0; i < dimensions(); ++i) {
      const auto column = points.col(i).head(count);
      const float at = others(other, i);
      if (is_category(i))
        to.col(i) = (column == at).select(Column::Zero(count), unlike);
      else
        to.col(i) = (column - at).square();
    }
  }

  // Of all pairs of points: of each from those before it.
  [[nodiscard]] Table pairs(const Table& points) const {
    const auto count = points.rows();
    Table squares(count * (count - 1) / 2, dimensions());
    for (Index row = 1; row < count; ++row)
      squared_distances(points, row, points, row, squares.middleRows(row * (row - 1) / 2, row));
    return squares;
  }
};

Column alike(const Table& squares, const Kernel& kernel) {
  const float scale = 1 / (kernel.length * kernel.length);
  const auto dimensions = static_cast<float>(squares.cols());
  Column together = Column::Zero(squares.rows()), apart = together;
  for (Index i = 0; i < squares.cols(); ++i) together += squares.col(i);
  together = (1 + together * (scale / dimensions)).inverse();
  if (kernel.apart == 0) return together;
  for (Index i = 0; i < squares.cols(); ++i) apart += (1 + squares.col(i) * scale).inverse();
  return (kernel.apart / dimensions) * apart + (1 - kernel.apart) * together;
}

struct Process {
  Eigen::LLT<Matrix> factor;
  Vector weights;  // covariance^-1 * losses
  double variance = 1, log_likelihood = 0;

  Process(const Table& pairs, const Kernel& kernel, const Vector& losses) {
    const auto count = losses.size();
    const auto similarity = alike(pairs, kernel);
    Matrix covariance(count, count);  // the lower half of it
    for (Index row = 0; row < count; ++row) {
      for (Index i = 0; i < row; ++i)
        covariance(row, i) = static_cast<double>(similarity[row * (row - 1) / 2 + i]);
      covariance(row, row) = 1 + noise;
    }
    factor.compute(covariance);
    weights = factor.solve(losses);
    variance = std::max(1e-6, losses.dot(weights) / static_cast<double>(count));  // the likeliest
    log_likelihood = -0.5 * static_cast<double>(count) * std::log(variance) -
                     factor.matrixLLT().diagonal().array().log().sum();
  }
};

// Every second trial tells as well which one it is, in an eighth of the time.
Kernel likeliest(const Map& map, const Table& points, const Vector& losses) {
  const auto half = Eigen::seq(Index{0}, points.rows() - 1, Index{2});
  const auto pairs = map.pairs(points(half, Eigen::all));
  const Vector targets = losses(half);
  const auto likelihood = [&](const Kernel& kernel) {
    return Process(pairs, kernel, targets).log_likelihood;
  };
  std::array<double, kernels.size()> found{};
  std::transform(kernels.begin(), kernels.end(), found.begin(), likelihood);
  return kernels[static_cast<std::size_t>(std::max_element(found.begin(), found.end()) - found.begin())];
}

// The logarithm of what each is above the least, of which half of them are less than 1 above: a few terrible
// ones must not hide the differences between the good. Mean 0 and deviation 1; nothing if that says nothing.
Vector standardised(const std::vector<double>& losses) {
  auto ordered = losses;
  std::sort(ordered.begin(), ordered.end());
  const double least = ordered.front(), middle = ordered[ordered.size() / 2] - least;
  if (!(middle > 0) || !std::isfinite(ordered.back() - least)) return {};
  Vector result = Eigen::Map<const Vector>(losses.data(), static_cast<Index>(losses.size()));
  result = ((result.array() - least) / middle).log1p();
  result.array() -= result.mean();
  const double deviation = std::sqrt(result.squaredNorm() / static_cast<double>(result.size()));
  return result / deviation;
}

}  // namespace

std::vector<double> log_improvements(const std::vector<Axis>& axes, const Known& known,
                                     std::span<const double> places) {
  if (known.losses.size() < 3) return {};
  const Vector losses = standardised(known.losses);
  if (losses.size() == 0) return {};
  Map map(axes);
  map.measure(map.place(known.points));
  const auto points = map.place(known.points), asked = map.place(places);
  const auto kernel = likeliest(map, points, losses);
  const Process process(map.pairs(points), kernel, losses);
  Matrix like(points.rows(), asked.rows());
  Table squares(points.rows(), points.cols());
  for (Index i = 0; i < asked.rows(); ++i) {
    map.squared_distances(points, points.rows(), asked, i, squares);
    like.col(i) = alike(squares, kernel).cast<double>();
  }
  const Vector means = like.transpose() * process.weights;
  process.factor.matrixL().solveInPlace(like);
  const double mark = known.rival ? losses[static_cast<Index>(*known.rival)] : losses.minCoeff();
  std::vector<double> improvements;
  for (Index i = 0; i < asked.rows(); ++i) {
    const double unknown = std::max(1e-8, 1 - like.col(i).squaredNorm());
    improvements.push_back(
        log_expected_improvement(mark, means[i], std::sqrt(unknown * process.variance)).log);
  }
  return improvements;
}

}  // namespace longship::study
