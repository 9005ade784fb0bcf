// SPDX-License-Identifier: Apache-2.0
#include "gaussian.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "descent.h"

namespace longship::study {
namespace {

using Eigen::Index;
using Array = Eigen::ArrayXd;
using Squares = Eigen::ArrayXXd;  // one column for each dimension
using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

constexpr double least_noise = 1e-7;
// What one dimension does by itself changes over about a third of the length.
constexpr double usual_sharpness = 8;
constexpr double least_apart = 1e-3, hardly_apart = 2e-3;  // below this it is left out

// Of squared distances, in lengths; with the slopes by them.
struct Matern {
  Array value, slope;

  explicit Matern(const Array& squares) {
    const Array r = (5 * squares).sqrt(), decay = (-r).exp();
    value = (1 + r + r.square() / 3) * decay;
    slope = -5.0 / 6 * (1 + r) * decay;
  }
};

// What is fitted: all of it above 0.
struct Shape {
  Vector weights;                    // of each dimension: length^-2
  double together = 1;               // the variance of what all dimensions do together
  double apart = 0.1;                // and of what each does by itself, in all
  double sharper = usual_sharpness;  // times its length^-2 there
  double noise = 1e-4;

  [[nodiscard]] Vector logs() const {
    Vector logs(weights.size() + 4);
    logs << weights.array().log().matrix(), std::log(together), std::log(apart), std::log(sharper),
        std::log(noise);
    return logs;
  }
  static Shape of(std::span<const double> logs) {
    const auto d = static_cast<Index>(logs.size()) - 4;
    const Array all = Eigen::Map<const Array>(logs.data(), d + 4).exp();
    return {all.head(d), all[d], all[d + 1], all[d + 2], all[d + 3]};
  }
  [[nodiscard]] double variance() const { return together + apart; }
  [[nodiscard]] bool has_apart() const { return apart > hardly_apart; }
  [[nodiscard]] double share() const { return apart / static_cast<double>(weights.size()); }
  [[nodiscard]] Array apart_squares(const Squares& squares, Index dimension) const {
    return sharper * weights[dimension] * squares.col(dimension);
  }

  // How alike pairs are, whose squared distances these are, by dimension.
  [[nodiscard]] Array covariances(const Squares& squares) const {
    Array sum = together * Matern((squares.matrix() * weights).array()).value;
    if (!has_apart()) return sum;
    for (Index i = 0; i < weights.size(); ++i) sum += share() * Matern(apart_squares(squares, i)).value;
    return sum;
  }
};

}  // namespace

struct GaussianProcess::State {
  std::vector<bool> choices;
  Squares points;  // one row each
  Squares pairs;   // squared distances: of each point from those before it
  Vector targets;
  Shape shape;

  Eigen::LLT<Matrix> factor;
  Vector alpha;  // covariance^-1 * targets

  [[nodiscard]] Index dimensions() const { return static_cast<Index>(choices.size()); }

  // Of the first points from a place.
  void squares(Index count, const double* place, Index stride, Eigen::Ref<Squares> to) const {
    for (Index i = 0; i < dimensions(); ++i) {
      const double at = place[i * stride];
      if (choices[static_cast<std::size_t>(i)])
        to.col(i) = (points.col(i).head(count) != at).cast<double>();
      else
        to.col(i) = (points.col(i).head(count) - at).square();
    }
  }

  void know(std::span<const double> flat, std::span<const double> values) {
    const auto n = static_cast<Index>(values.size());
    points = Eigen::Map<const Matrix>(flat.data(), dimensions(), n).transpose();
    targets = Eigen::Map<const Vector>(values.data(), n);
    pairs.resize(n * (n - 1) / 2, dimensions());
    for (Index row = 1; row < n; ++row)
      squares(row, points.data() + row, n, pairs.middleRows(row * (row - 1) / 2, row));
  }

  [[nodiscard]] Matrix spread_out(const Array& of_pairs, double diagonal) const {  // the lower half
    const auto n = targets.size();
    Matrix result(n, n);
    for (Index row = 0; row < n; ++row) {
      result.row(row).head(row) = of_pairs.segment(row * (row - 1) / 2, row).matrix().transpose();
      result(row, row) = diagonal;
    }
    return result;
  }

  void solve() {
    const Array covariances = shape.covariances(pairs);
    for (double extra = shape.noise + least_noise;; extra *= 10) {
      factor.compute(spread_out(covariances, shape.variance() + extra));
      if (factor.info() == Eigen::Success || extra > 1) break;
    }
    alpha = factor.solve(targets);
  }

  [[nodiscard]] Squares squares_from(std::span<const double> point) const {
    Squares result(points.rows(), points.cols());
    squares(points.rows(), point.data(), 1, result);
    return result;
  }

  // Lengths most likely 1, from a third to three likely enough; the noise small, the scale about 1; what
  // dimensions do by themselves less.
  double log_prior(const Shape& at, std::span<double> gradient) const {
    const auto d = choices.size();
    double sum = 0;
    for (std::size_t i = 0; i < d; ++i) {
      const double weight = at.weights[static_cast<Index>(i)];
      sum -= 0.1 / weight + 0.1 * weight;
      gradient[i] += 0.1 / weight - 0.1 * weight;
    }
    const double sharp = std::log(at.sharper / usual_sharpness);
    sum += std::log(at.together) - at.together + 0.2 * std::log(at.apart) - at.apart - sharp * sharp / 2 +
           0.1 * std::log(at.noise) - 30 * at.noise;
    gradient[d] += 1 - at.together;
    gradient[d + 1] += 0.2 - at.apart;
    gradient[d + 2] -= sharp;
    gradient[d + 3] += 0.1 - 30 * at.noise;
    return sum;
  }

  double log_posterior(std::span<const double> logs, std::span<double> gradient) const {
    const auto d = dimensions();
    const auto n = points.rows();
    const auto at = Shape::of(logs);
    const Matern whole((pairs.matrix() * at.weights).array());
    Array covariances = at.together * whole.value, apart = Array::Zero(pairs.rows());
    std::vector<Array> slopes;  // by the logarithm of each weight, of what dimensions do by themselves
    for (Index i = 0; i < d; ++i) {
      const Array squares = at.apart_squares(pairs, i);
      const Matern alone(squares);
      apart += at.share() * alone.value;
      slopes.push_back(at.share() * alone.slope * squares);
    }
    covariances += apart;
    const Eigen::LLT<Matrix> llt(spread_out(covariances, at.variance() + at.noise + least_noise));
    if (llt.info() != Eigen::Success) return -std::numeric_limits<double>::infinity();
    const Vector a = llt.solve(targets);
    const Matrix inverse = llt.solve(Matrix::Identity(n, n));
    double value = -0.5 * targets.dot(a);
    for (Index i = 0; i < n; ++i) value -= std::log(llt.matrixLLT()(i, i));

    // d value / d parameter = trace((a a^T - K^-1) dK / d parameter) / 2, where each pair counts twice
    Array influence(pairs.rows());
    for (Index row = 1; row < n; ++row)
      influence.segment(row * (row - 1) / 2, row) =
          a[row] * a.head(row).array() - inverse.col(row).head(row).array();
    const double own = 0.5 * (a.squaredNorm() - inverse.trace());
    const Vector by_square = (influence * at.together * whole.slope).matrix();
    const Vector together = pairs.matrix().transpose() * by_square;
    double sharper = 0;
    for (Index i = 0; i < d; ++i) {
      const double alone = (influence * slopes[static_cast<std::size_t>(i)]).sum();
      gradient[static_cast<std::size_t>(i)] = at.weights[i] * together[i] + alone;
      sharper += alone;
    }
    const auto size = choices.size();
    gradient[size] = at.together * ((influence * whole.value).sum() + own);
    gradient[size + 1] = (influence * apart).sum() + at.apart * own;
    gradient[size + 2] = sharper;
    gradient[size + 3] = at.noise * own;
    return value + log_prior(at, gradient);
  }
};

GaussianProcess::GaussianProcess(std::vector<bool> choices) : state_(std::make_unique<State>()) {
  state_->shape.weights = Vector::Ones(static_cast<Index>(choices.size()));
  state_->choices = std::move(choices);
}
GaussianProcess::GaussianProcess(GaussianProcess&&) noexcept = default;
GaussianProcess::~GaussianProcess() = default;

GaussianProcess GaussianProcess::wary(double longest) const {
  GaussianProcess result(state_->choices);
  *result.state_ = *state_;
  result.state_->shape.weights = state_->shape.weights.cwiseMax(1 / (longest * longest));
  result.state_->solve();
  return result;
}

void GaussianProcess::know(std::span<const double> points, std::span<const double> targets) {
  state_->know(points, targets);
  state_->solve();
}

std::vector<double> GaussianProcess::logs() const {
  const auto logs = state_->shape.logs();
  return {logs.begin(), logs.end()};
}

std::vector<double> GaussianProcess::weights() const {
  const auto& weights = state_->shape.weights;
  return {weights.data(), weights.data() + weights.size()};
}

double GaussianProcess::log_posterior(std::span<const double> logs, std::span<double> gradient) const {
  return state_->log_posterior(logs, gradient);
}

void GaussianProcess::fit(int evaluations, bool noiseless) {
  const auto d = state_->choices.size();
  Box box{std::vector<double>(d + 4, std::log(1e-4)), std::vector<double>(d + 4, std::log(1e4))};
  box.low[d] = std::log(0.05);
  box.high[d] = std::log(20.0);
  box.low[d + 1] = std::log(least_apart);
  box.high[d + 1] = std::log(20.0);
  box.low[d + 2] = std::log(0.1);
  box.high[d + 2] = std::log(100.0);
  box.low[d + 3] = std::log(1e-7);
  box.high[d + 3] = std::log(noiseless ? 2e-7 : 1.0);
  auto x = logs();
  const auto downhill = [this](std::span<const double> at, std::span<double> gradient) {
    const double value = state_->log_posterior(at, gradient);
    for (auto& slope : gradient) slope = -slope;
    return -value;
  };
  descend(downhill, box, x, {evaluations, 1e-2});
  state_->shape = Shape::of(x);
  state_->solve();
}

Prediction GaussianProcess::predict(std::span<const double> point, bool slopes) const {
  const State& state = *state_;
  const auto& shape = state.shape;
  const auto squares = state.squares_from(point);
  const Vector k = shape.covariances(squares).matrix();
  const Vector half = state.factor.matrixL().solve(k);
  Prediction result;
  result.mean = k.dot(state.alpha);
  result.deviation = std::sqrt(std::max(shape.variance() - half.squaredNorm(), 1e-12));
  if (!slopes) return result;
  const Vector pull = state.factor.matrixU().solve(half);  // covariance^-1 * k
  result.mean_slope.assign(point.size(), 0);
  result.deviation_slope.assign(point.size(), 0);
  const Array whole = shape.together * Matern((squares.matrix() * shape.weights).array()).slope;
  for (std::size_t i = 0; i < point.size(); ++i) {
    if (state.choices[i]) continue;
    const auto dimension = static_cast<Index>(i);
    Array by = whole;
    if (shape.has_apart())
      by += shape.share() * shape.sharper * Matern(shape.apart_squares(squares, dimension)).slope;
    by *= 2 * shape.weights[dimension] * (point[i] - state.points.col(dimension));
    result.mean_slope[i] = by.matrix().dot(state.alpha);
    result.deviation_slope[i] = -by.matrix().dot(pull) / result.deviation;
  }
  return result;
}

std::vector<Prediction> GaussianProcess::predict_all(std::span<const double> points) const {
  const State& state = *state_;
  const auto d = state.choices.size();
  const auto count = points.size() / d;
  Matrix k(state.points.rows(), static_cast<Index>(count));
  for (std::size_t i = 0; i < count; ++i)
    k.col(static_cast<Index>(i)) =
        state.shape.covariances(state.squares_from(points.subspan(i * d, d))).matrix();
  const Vector means = k.transpose() * state.alpha;
  state.factor.matrixL().solveInPlace(k);
  std::vector<Prediction> results(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto column = static_cast<Index>(i);
    results[i].mean = means[column];
    results[i].deviation = std::sqrt(std::max(state.shape.variance() - k.col(column).squaredNorm(), 1e-12));
  }
  return results;
}

}  // namespace longship::study
