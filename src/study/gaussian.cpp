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
using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

const double root5 = std::sqrt(5.0);
constexpr double least_noise = 1e-7;

// Of the squared distance, in lengths.
double matern(double square) {
  const double r = root5 * std::sqrt(square);
  return (1 + r + r * r / 3) * std::exp(-r);
}

double matern_slope(double square) {  // by the square
  const double r = root5 * std::sqrt(square);
  return -5.0 / 6 * (1 + r) * std::exp(-r);
}

}  // namespace

struct GaussianProcess::State {
  std::vector<bool> choices;
  Matrix points;  // one column each
  Vector targets;
  Vector weights;  // of each dimension: length^-2
  double scale = 1, noise = 1e-4;

  Eigen::LLT<Matrix> factor;
  Vector alpha;  // covariance^-1 * targets

  [[nodiscard]] Index dimensions() const { return static_cast<Index>(choices.size()); }

  [[nodiscard]] double part(Index dimension, double a, double b) const {
    if (choices[static_cast<std::size_t>(dimension)]) return a == b ? 0 : 1;
    return (a - b) * (a - b);
  }

  [[nodiscard]] double square(const Vector& w, const double* a, const double* b) const {
    double sum = 0;
    for (Index i = 0; i < dimensions(); ++i) sum += w[i] * part(i, a[i], b[i]);
    return sum;
  }

  [[nodiscard]] Matrix squares(const Vector& w) const {
    const auto n = points.cols();
    Matrix result = Matrix::Zero(n, n);
    for (Index j = 0; j < n; ++j)
      for (Index i = j + 1; i < n; ++i)
        result(i, j) = result(j, i) = square(w, points.col(i).data(), points.col(j).data());
    return result;
  }

  void solve() {
    const Matrix distance = squares(weights);
    for (double extra = noise + least_noise;; extra *= 10) {
      Matrix covariance = scale * distance.unaryExpr(&matern);
      covariance.diagonal().array() += extra;
      factor.compute(covariance);
      if (factor.info() == Eigen::Success || extra > 1) break;
    }
    alpha = factor.solve(targets);
  }

  [[nodiscard]] Vector towards(std::span<const double> point) const {
    Vector k(points.cols());
    for (Index i = 0; i < points.cols(); ++i)
      k[i] = scale * matern(square(weights, points.col(i).data(), point.data()));
    return k;
  }

  // Lengths most likely 1, from a third to three likely enough; the noise small, the scale about 1.
  double log_prior(std::span<const double> logs, std::span<double> gradient) const {
    const auto d = choices.size();
    double sum = 0;
    for (std::size_t i = 0; i < d; ++i) {
      const double weight = std::exp(logs[i]);
      sum -= 0.1 / weight + 0.1 * weight;
      gradient[i] += 0.1 / weight - 0.1 * weight;
    }
    const double size = std::exp(logs[d]), rough = std::exp(logs[d + 1]);
    sum += logs[d] - size + 0.1 * logs[d + 1] - 30 * rough;
    gradient[d] += 1 - size;
    gradient[d + 1] += 0.1 - 30 * rough;
    return sum;
  }

  double log_posterior(std::span<const double> logs, std::span<double> gradient) const {
    const auto d = dimensions();
    const auto n = points.cols();
    Vector w(d);
    for (Index i = 0; i < d; ++i) w[i] = std::exp(logs[static_cast<std::size_t>(i)]);
    const double size = std::exp(logs[choices.size()]), rough = std::exp(logs[choices.size() + 1]);

    const Matrix distance = squares(w);
    const Matrix shape = distance.unaryExpr(&matern);
    Matrix covariance = size * shape;
    covariance.diagonal().array() += rough + least_noise;
    const Eigen::LLT<Matrix> llt(covariance);
    if (llt.info() != Eigen::Success) return -std::numeric_limits<double>::infinity();
    const Vector a = llt.solve(targets);
    const Matrix inverse = llt.solve(Matrix::Identity(n, n));
    double value = -0.5 * targets.dot(a);
    for (Index i = 0; i < n; ++i) value -= std::log(llt.matrixLLT()(i, i));

    // d value / d parameter = trace((a a^T - K^-1) dK / d parameter) / 2
    const Matrix influence = a * a.transpose() - inverse;
    const Matrix by_square = size * influence.cwiseProduct(distance.unaryExpr(&matern_slope));
    for (Index i = 0; i < d; ++i)
      gradient[static_cast<std::size_t>(i)] = 0.5 * w[i] * weighted_parts(by_square, i);
    gradient[choices.size()] = 0.5 * size * influence.cwiseProduct(shape).sum();
    gradient[choices.size() + 1] = 0.5 * rough * influence.trace();
    return value + log_prior(logs, gradient);
  }

  // The sum over all pairs of the matrix times the squared difference in one dimension.
  [[nodiscard]] double weighted_parts(const Matrix& matrix, Index dimension) const {
    const Vector x = points.row(dimension);
    if (!choices[static_cast<std::size_t>(dimension)]) {
      const Vector sums = matrix.rowwise().sum();
      return 2 * (x.array().square() * sums.array()).sum() - 2 * x.dot(matrix * x);
    }
    double sum = 0;
    for (Index j = 0; j < x.size(); ++j)
      for (Index i = 0; i < x.size(); ++i)
        if (x[i] != x[j]) sum += matrix(i, j);
    return sum;
  }
};

GaussianProcess::GaussianProcess(std::vector<bool> choices) : state_(std::make_unique<State>()) {
  const auto d = static_cast<Index>(choices.size());
  state_->choices = std::move(choices);
  state_->weights = Vector::Ones(d);
}
GaussianProcess::GaussianProcess(GaussianProcess&&) noexcept = default;
GaussianProcess::~GaussianProcess() = default;

GaussianProcess GaussianProcess::wary(double longest) const {
  GaussianProcess result(state_->choices);
  *result.state_ = *state_;
  result.state_->weights = state_->weights.cwiseMax(1 / (longest * longest));
  result.state_->solve();
  return result;
}

void GaussianProcess::know(std::span<const double> points, std::span<const double> targets) {
  const auto n = static_cast<Index>(targets.size());
  state_->points = Eigen::Map<const Matrix>(points.data(), state_->dimensions(), n);
  state_->targets = Eigen::Map<const Vector>(targets.data(), n);
  state_->solve();
}

std::vector<double> GaussianProcess::logs() const {
  std::vector<double> logs;
  for (const double weight : state_->weights) logs.push_back(std::log(weight));
  logs.push_back(std::log(state_->scale));
  logs.push_back(std::log(state_->noise));
  return logs;
}

double GaussianProcess::log_posterior(std::span<const double> logs, std::span<double> gradient) const {
  return state_->log_posterior(logs, gradient);
}

void GaussianProcess::fit(int evaluations, bool noiseless) {
  const auto d = state_->choices.size();
  Box box{std::vector<double>(d + 2, std::log(1e-4)), std::vector<double>(d + 2, std::log(1e4))};
  box.low[d] = std::log(0.05);
  box.high[d] = std::log(20.0);
  box.low[d + 1] = std::log(1e-7);
  box.high[d + 1] = std::log(noiseless ? 2e-7 : 1.0);
  auto x = logs();
  const auto downhill = [this](std::span<const double> at, std::span<double> gradient) {
    const double value = state_->log_posterior(at, gradient);
    for (auto& slope : gradient) slope = -slope;
    return -value;
  };
  descend(downhill, box, x, {evaluations, 1e-2});
  for (std::size_t i = 0; i < d; ++i) state_->weights[static_cast<Index>(i)] = std::exp(x[i]);
  state_->scale = std::exp(x[d]);
  state_->noise = std::exp(x[d + 1]);
  state_->solve();
}

Prediction GaussianProcess::predict(std::span<const double> point, bool slopes) const {
  const State& state = *state_;
  const Vector k = state.towards(point);
  const Vector half = state.factor.matrixL().solve(k);
  Prediction result;
  result.mean = k.dot(state.alpha);
  result.deviation = std::sqrt(std::max(state.scale - half.squaredNorm(), 1e-12));
  if (!slopes) return result;
  const Vector pull = state.factor.matrixU().solve(half);  // covariance^-1 * k
  result.mean_slope.assign(point.size(), 0);
  result.deviation_slope.assign(point.size(), 0);
  for (Index j = 0; j < state.points.cols(); ++j) {
    const double slope =
        2 * state.scale * matern_slope(state.square(state.weights, state.points.col(j).data(), point.data()));
    for (std::size_t i = 0; i < point.size(); ++i) {
      if (state.choices[i]) continue;
      const auto dimension = static_cast<Index>(i);
      const double by = slope * state.weights[dimension] * (point[i] - state.points(dimension, j));
      result.mean_slope[i] += by * state.alpha[j];
      result.deviation_slope[i] -= by * pull[j] / result.deviation;
    }
  }
  return result;
}

std::vector<Prediction> GaussianProcess::predict_all(std::span<const double> points) const {
  const State& state = *state_;
  const auto d = state.choices.size();
  const auto count = points.size() / d;
  Matrix k(state.points.cols(), static_cast<Index>(count));
  for (std::size_t i = 0; i < count; ++i)
    k.col(static_cast<Index>(i)) = state.towards(points.subspan(i * d, d));
  const Vector means = k.transpose() * state.alpha;
  state.factor.matrixL().solveInPlace(k);
  std::vector<Prediction> results(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto column = static_cast<Index>(i);
    results[i].mean = means[column];
    results[i].deviation = std::sqrt(std::max(state.scale - k.col(column).squaredNorm(), 1e-12));
  }
  return results;
}

}  // namespace longship::study
