// SPDX-License-Identifier: Apache-2.0
#include "cma.h"

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <deque>

namespace longship::study {
namespace {

using Eigen::Index;
using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

Eigen::Map<const Vector> seen(const std::vector<double>& values) {
  return {values.data(), static_cast<Index>(values.size())};
}

}  // namespace

struct Cma::State {
  std::size_t population;
  Vector weights;  // of all, the best first
  Index pulling = 0;
  double mu_effective = 0, c_sigma = 0, d_sigma = 0, c_c = 0, c_1 = 0, c_mu = 0, expected = 0;

  Vector mean, path_sigma, path_c, axes;  // axes: square roots of the eigenvalues
  Matrix covariance, rotation;
  double sigma;
  int generation = 0;
  std::deque<double> bests;  // of the last generations

  State(const std::vector<double>& start, double deviation, std::size_t lambda)
      : population(lambda), sigma(deviation) {
    const auto n = static_cast<double>(start.size());
    mean = seen(start);
    path_sigma = path_c = Vector::Zero(mean.size());
    axes = Vector::Ones(mean.size());
    covariance = rotation = Matrix::Identity(mean.size(), mean.size());

    // The better half pulls, the worse half pushes away (active CMA, Jastrebski and Arnold 2006).
    const auto count = static_cast<Index>(lambda), half = static_cast<Index>(lambda / 2);
    weights.resize(count);
    for (Index i = 0; i < count; ++i)
      weights[i] = std::log((static_cast<double>(lambda) + 1) / 2) - std::log(static_cast<double>(i) + 1);
    const Vector good = weights.head(half), bad = weights.tail(count - half);
    mu_effective = good.sum() * good.sum() / good.squaredNorm();
    const double bad_effective = bad.sum() * bad.sum() / bad.squaredNorm();
    c_sigma = (mu_effective + 2) / (n + mu_effective + 5);
    d_sigma = 1 + 2 * std::max(0.0, std::sqrt((mu_effective - 1) / (n + 1)) - 1) + c_sigma;
    c_c = (4 + mu_effective / n) / (n + 4 + 2 * mu_effective / n);
    c_1 = 2 / ((n + 1.3) * (n + 1.3) + mu_effective);
    c_mu = std::min(1 - c_1, 2 * (mu_effective - 2 + 1 / mu_effective) / ((n + 2) * (n + 2) + mu_effective));
    const double most =
        std::min({1 + c_1 / c_mu, 1 + 2 * bad_effective / (mu_effective + 2), (1 - c_1 - c_mu) / (n * c_mu)});
    weights.head(half) /= good.sum();
    weights.tail(count - half) *= most / std::abs(bad.sum());
    pulling = half;
    expected = std::sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));
  }

  void move(const std::vector<Result>& sorted) {
    const Vector old = mean;
    Matrix steps(mean.size(), weights.size());
    for (Index i = 0; i < weights.size(); ++i)
      steps.col(i) = (seen(sorted[static_cast<std::size_t>(i)].position) - old) / sigma;
    const Vector step = steps.leftCols(pulling) * weights.head(pulling);
    mean = old + sigma * step;

    const Vector whitened = rotation * (rotation.transpose() * step).cwiseQuotient(axes);
    path_sigma = (1 - c_sigma) * path_sigma + std::sqrt(c_sigma * (2 - c_sigma) * mu_effective) * whitened;
    const double length = path_sigma.norm();
    const auto n = static_cast<double>(mean.size());
    const bool calm =
        length / std::sqrt(1 - std::pow(1 - c_sigma, 2 * (generation + 1))) < (1.4 + 2 / (n + 1)) * expected;
    path_c = (1 - c_c) * path_c + (calm ? std::sqrt(c_c * (2 - c_c) * mu_effective) : 0.0) * step;
    const double lost = calm ? 0 : c_1 * c_c * (2 - c_c);
    Vector shares = weights;  // a far one does not push harder than a near one
    for (Index i = pulling; i < shares.size(); ++i)
      shares[i] *= n / ((rotation.transpose() * steps.col(i)).cwiseQuotient(axes).squaredNorm() + 1e-300);
    covariance = (1 - c_1 - c_mu * weights.sum() + lost) * covariance + c_1 * path_c * path_c.transpose() +
                 c_mu * steps * shares.asDiagonal() * steps.transpose();
    sigma = std::min(sigma * std::exp(std::min(1.0, c_sigma / d_sigma * (length / expected - 1))), 1.0);
    ++generation;
  }

  void decompose() {
    const Eigen::SelfAdjointEigenSolver<Matrix> solver(covariance);
    rotation = solver.eigenvectors();
    axes = solver.eigenvalues().cwiseMax(1e-20).cwiseSqrt();
  }
};

std::size_t usual_population(std::size_t dimensions) {
  return 4 + static_cast<std::size_t>(3 * std::log(static_cast<double>(dimensions)));
}

Cma::Cma(std::vector<double> mean, double deviation, std::size_t population)
    : state_(std::make_unique<State>(mean, deviation, std::max<std::size_t>(population, 4))) {}
Cma::Cma(Cma&&) noexcept = default;
Cma& Cma::operator=(Cma&&) noexcept = default;
Cma::~Cma() = default;

std::size_t Cma::population() const {
  return state_->population;
}

// What falls outside is drawn again; if that does not help it is brought to the wall.
std::vector<double> Cma::sample(std::vector<double> normals, Random& random, double stretch) const {
  const State& state = *state_;
  Vector x;
  for (int tries = 0; tries < 100; ++tries) {
    if (tries > 0)
      for (auto& value : normals) value = random.normal();
    x = state.mean + stretch * state.sigma * (state.rotation * state.axes.cwiseProduct(seen(normals)));
    if (x.minCoeff() >= 0 && x.maxCoeff() <= 1) break;
  }
  x = x.cwiseMax(0).cwiseMin(1);
  return {x.begin(), x.end()};
}

void Cma::update(std::vector<Result> generation) {
  std::stable_sort(generation.begin(), generation.end(),
                   [](const Result& a, const Result& b) { return a.loss < b.loss; });
  state_->move(generation);
  state_->decompose();
  state_->bests.push_back(generation.front().loss);
  const auto n = static_cast<double>(state_->mean.size());
  const auto window =
      10 + static_cast<std::size_t>(std::ceil(30 * n / static_cast<double>(state_->population)));
  if (state_->bests.size() > window) state_->bests.pop_front();
}

bool Cma::is_done() const {
  const State& state = *state_;
  if (state.sigma * state.axes.maxCoeff() < 1e-9 || state.axes.maxCoeff() > 1e7 * state.axes.minCoeff())
    return true;
  const auto n = static_cast<double>(state.mean.size());
  const auto window =
      10 + static_cast<std::size_t>(std::ceil(30 * n / static_cast<double>(state.population)));
  if (state.bests.size() < window) return false;
  const auto [low, high] = std::minmax_element(state.bests.begin(), state.bests.end());
  return *high - *low <= 1e-12 * (1 + std::abs(*low));
}

}  // namespace longship::study
