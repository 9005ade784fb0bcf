// SPDX-License-Identifier: Apache-2.0
#include "pruner.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"

namespace longship::study {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

double loss_of(const History& history, double value) {
  return std::isnan(value) ? infinite : history.signed_value(value);
}

double best_until(const History& history, const Trial& trial, std::int64_t step) {
  double best = infinite;
  for (const auto& [at, value] : trial.reports)
    if (at <= step) best = std::min(best, loss_of(history, value));
  return best;
}

// Between the two nearest, as if the values stood at equal distances.
double percentile(std::vector<double> values, double percent) {
  std::sort(values.begin(), values.end());
  const double place = percent / 100 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double low = values[below], high = values[std::min(below + 1, values.size() - 1)];
  return low == high ? low : low + (high - low) * (place - static_cast<double>(below));
}

// Worse at its best than `percent` of the complete trials were at this step.
class PercentilePruner : public Pruner {
 public:
  PercentilePruner(const Options& options, double percent)
      : percent_(options.number("percentile", percent)),
        startup_(options.number("startup", 5)),
        warmup_(options.number("warmup", 0)),
        interval_(options.number("interval", 1)),
        least_(options.number("least", 1)) {
    if (!(percent_ >= 0 && percent_ <= 100) || interval_ < 1)
      throw Error(Failure::usage, "the percentile is from 0 to 100, the interval at least 1");
  }

  bool should_prune(const History& history, const Trial& trial) const override {
    const auto step = trial.reports.rbegin()->first;
    const auto after = static_cast<double>(step) - warmup_;
    if (after < 0 || !is_turn(trial, after)) return false;
    const double best = best_until(history, trial, step);
    std::size_t complete = 0;
    std::vector<double> others;
    for (const auto& other : history.trials()) {
      if (other.state != TrialState::complete) continue;
      ++complete;
      if (const auto found = other.reports.find(step); found != other.reports.end())
        others.push_back(loss_of(history, found->second));
    }
    if (static_cast<double>(complete) < startup_ || complete == 0) return false;
    if (best == infinite) return true;  // all NaN
    if (others.empty() || static_cast<double>(others.size()) < least_) return false;
    return best > percentile(std::move(others), percent_);
  }

 private:
  // Once in each interval, at its first report.
  [[nodiscard]] bool is_turn(const Trial& trial, double after) const {
    if (trial.reports.size() < 2) return true;
    const double begin = warmup_ + std::floor(after / interval_) * interval_;
    return static_cast<double>(std::next(trial.reports.rbegin())->first) < begin;
  }

  double percent_, startup_, warmup_, interval_, least_;
};

// Successive halving as soon as a trial comes to a rung (ASHA, Li et al. 2020): it goes on if it is among the
// best 1 / factor of those who have been there.
class HalvingPruner : public Pruner {
 public:
  explicit HalvingPruner(const Options& options)
      : least_(options.number("least", 1)),
        factor_(options.number("factor", 4)),
        rate_(options.number("rate", 0)) {
    if (least_ < 1 || factor_ < 2 || rate_ < 0)
      throw Error(Failure::usage,
                  "successive halving needs a least step of 1 or more and a factor of 2 or more");
  }
  HalvingPruner(double least, double factor, double rate) : least_(least), factor_(factor), rate_(rate) {}

  bool should_prune(const History& history, const Trial& trial) const override {
    return should_prune_among(history, trial, [](const Trial&) { return true; });
  }

  template <class Competes>
  bool should_prune_among(const History& history, const Trial& trial, Competes competes) const {
    const auto [last, value] = *trial.reports.rbegin();
    const double before =
        trial.reports.size() < 2 ? -1 : static_cast<double>(std::next(trial.reports.rbegin())->first);
    double rung = least_ * std::pow(factor_, rate_);
    while (rung <= before) rung *= factor_;
    if (static_cast<double>(last) < rung)
      return false;  // judged at the first report on a rung, and not again
    const double own = loss_of(history, value);
    std::vector<double> losses;
    for (const auto& other : history.trials()) {
      if (!competes(other)) continue;
      const auto there = other.reports.lower_bound(static_cast<std::int64_t>(std::ceil(rung)));
      if (there != other.reports.end()) losses.push_back(loss_of(history, there->second));
    }
    std::sort(losses.begin(), losses.end());
    const auto promoted =
        std::max<std::size_t>(1, static_cast<std::size_t>(static_cast<double>(losses.size()) / factor_));
    return own > losses[promoted - 1];
  }

 private:
  double least_, factor_, rate_;
};

// Several brackets of successive halving, which begin to judge later and later (Li et al. 2018); a trial's
// number says which bracket it is in, and it competes with that bracket only.
class HyperbandPruner : public Pruner {
 public:
  explicit HyperbandPruner(const Options& options)
      : least_(options.number("least", 1)),
        most_(options.number("most", 100)),
        factor_(options.number("factor", 3)) {
    if (least_ < 1 || most_ < least_ || factor_ < 2)
      throw Error(Failure::usage, "Hyperband needs 1 <= least <= most steps and a factor of 2 or more");
    brackets_ = static_cast<std::size_t>(std::log(most_ / least_) / std::log(factor_) + 1e-9) + 1;
  }

  bool should_prune(const History& history, const Trial& trial) const override {
    const auto bracket = bracket_of(trial.number);
    const HalvingPruner halving(least_, factor_, static_cast<double>(bracket));
    return halving.should_prune_among(
        history, trial, [&](const Trial& other) { return bracket_of(other.number) == bracket; });
  }

 private:
  // Those that judge early get more trials, as each costs less.
  [[nodiscard]] std::size_t bracket_of(TrialNumber number) const {
    std::vector<double> shares;
    for (std::size_t i = 0; i < brackets_; ++i) {
      const auto rounds = static_cast<double>(brackets_ - 1 - i);
      shares.push_back((shares.empty() ? 0 : shares.back()) +
                       std::ceil(static_cast<double>(brackets_) * std::pow(factor_, rounds) / (rounds + 1)));
    }
    const double place = Random({number}).uniform() * shares.back();
    return static_cast<std::size_t>(std::upper_bound(shares.begin(), shares.end() - 1, place) -
                                    shares.begin());
  }

  double least_, most_, factor_;
  std::size_t brackets_;
};

class ThresholdPruner : public Pruner {
 public:
  explicit ThresholdPruner(const Options& options)
      : lower_(options.number("lower", -infinite)),
        upper_(options.number("upper", infinite)),
        warmup_(options.number("warmup", 0)) {}

  bool should_prune(const History&, const Trial& trial) const override {
    const auto [step, value] = *trial.reports.rbegin();
    return static_cast<double>(step) >= warmup_ && !(value >= lower_ && value <= upper_);
  }

 private:
  double lower_, upper_, warmup_;
};

// No better than before for `patience` reports.
class PatientPruner : public Pruner {
 public:
  explicit PatientPruner(const Options& options)
      : patience_(options.number("patience", 10)), delta_(options.number("delta", 0)) {}

  bool should_prune(const History& history, const Trial& trial) const override {
    if (static_cast<double>(trial.reports.size()) <= patience_ + 1) return false;
    double before = infinite, lately = infinite;
    std::size_t place = 0;
    const auto recent = trial.reports.size() - static_cast<std::size_t>(patience_) - 1;
    for (const auto& [_, value] : trial.reports) {
      auto& best = place++ < recent ? before : lately;
      best = std::min(best, loss_of(history, value));
    }
    return before + delta_ < lately;
  }

 private:
  double patience_, delta_;
};

}  // namespace

std::unique_ptr<Pruner> make_pruner(std::string_view name, const Options& options) {
  std::unique_ptr<Pruner> pruner;
  if (name == "median") pruner = std::make_unique<PercentilePruner>(options, 50);
  if (name == "percentile") pruner = std::make_unique<PercentilePruner>(options, 25);
  if (name == "asha") pruner = std::make_unique<HalvingPruner>(options);
  if (name == "hyperband") pruner = std::make_unique<HyperbandPruner>(options);
  if (name == "threshold") pruner = std::make_unique<ThresholdPruner>(options);
  if (name == "patient") pruner = std::make_unique<PatientPruner>(options);
  if (!pruner) {
    static const std::array<std::string, 6> known{"median",    "percentile", "asha",
                                                  "hyperband", "threshold",  "patient"};
    throw Error(Failure::usage, "there is no pruner \"{}\"{}", name, suggestion(name, known));
  }
  options.check_all_known(fmt::format("the pruner {}", name));
  return pruner;
}

}  // namespace longship::study
