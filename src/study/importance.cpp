// SPDX-License-Identifier: Apache-2.0
#include "importance.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/random.h"

namespace longship::study {
namespace {

constexpr std::size_t trees = 64;
constexpr std::size_t most_samples = 2000;  // more change nothing but the time
constexpr std::size_t smallest_leaf = 2;
constexpr std::size_t fewest_trials = 4;

struct Samples {
  std::vector<std::string> names;
  std::vector<std::vector<double>> places;  // of each sample, in [0, 1] for each parameter
  std::vector<double> losses;
};

// One leaf: the box in which the tree says `value`.
struct Box {
  std::vector<double> low, high;
  double value = 0;
  [[nodiscard]] double size(std::size_t axis) const { return high[axis] - low[axis]; }
};

Samples samples_of(const History& history, std::size_t objective) {
  Samples samples;
  std::map<std::string, std::size_t> column;
  for (ParameterId id = 0; id < history.parameter_count(); ++id)
    if (!is_single(history.parameter(id).domain) &&
        column.emplace(history.parameter(id).name, samples.names.size()).second)
      samples.names.push_back(history.parameter(id).name);
  std::vector<const Trial*> usable;
  for (const auto& trial : history.trials())
    if (trial.state == TrialState::complete && std::isfinite(history.loss(trial, objective)))
      usable.push_back(&trial);
  const std::size_t stride = std::max<std::size_t>(1, usable.size() / most_samples);
  for (std::size_t i = 0; i < usable.size(); i += stride) {
    std::vector<double> place(samples.names.size(), 0.5);
    for (const auto& [id, value] : usable[i]->point) {
      const auto& parameter = history.parameter(id);
      if (const auto found = column.find(parameter.name); found != column.end())
        place[found->second] = parameter.axis.position(value);
    }
    samples.places.push_back(std::move(place));
    samples.losses.push_back(history.loss(*usable[i], objective));
  }
  return samples;
}

// A regression tree as the list of its leaves, each split chosen among all parameters by the variance it
// removes.
class Tree {
 public:
  Tree(const Samples& samples, std::uint64_t seed) : samples_(samples) {
    Random random({seed, 0xfa40a});
    std::vector<std::size_t> drawn(samples.losses.size());
    for (auto& index : drawn) index = random.below(samples.losses.size());
    const auto axes = samples.names.size();
    grow(std::move(drawn), Box{std::vector(axes, 0.0), std::vector(axes, 1.0), 0});
  }

  [[nodiscard]] const std::vector<Box>& leaves() const { return leaves_; }

 private:
  struct Cut {
    double gain = 0, at = 0;
    std::size_t axis = 0;
  };

  void grow(std::vector<std::size_t> members, Box box) {
    const auto cut = best_cut(members);
    if (cut.gain <= 0) {
      double sum = 0;
      for (const auto index : members) sum += samples_.losses[index];
      box.value = sum / static_cast<double>(members.size());
      leaves_.push_back(std::move(box));
      return;
    }
    const auto middle = std::partition(members.begin(), members.end(), [&](std::size_t index) {
      return samples_.places[index][cut.axis] < cut.at;
    });
    Box left = box, right = std::move(box);
    left.high[cut.axis] = right.low[cut.axis] = cut.at;
    std::vector<std::size_t> rest(middle, members.end());
    members.erase(middle, members.end());
    grow(std::move(members), std::move(left));
    grow(std::move(rest), std::move(right));
  }

  [[nodiscard]] Cut best_cut(std::vector<std::size_t>& members) const {
    Cut best;
    if (members.size() < 2 * smallest_leaf) return best;
    double all = 0;
    for (const auto index : members) all += samples_.losses[index];
    const auto count = static_cast<double>(members.size());
    for (std::size_t axis = 0; axis < samples_.names.size(); ++axis) {
      std::sort(members.begin(), members.end(), [&](std::size_t a, std::size_t b) {
        return samples_.places[a][axis] < samples_.places[b][axis];
      });
      double left = 0;
      for (std::size_t i = 1; i < members.size(); ++i) {
        left += samples_.losses[members[i - 1]];
        const double before = samples_.places[members[i - 1]][axis],
                     after = samples_.places[members[i]][axis];
        if (before == after || i < smallest_leaf || members.size() - i < smallest_leaf) continue;
        const auto here = static_cast<double>(i);
        const double gain =
            left * left / here + (all - left) * (all - left) / (count - here) - all * all / count;
        if (gain > best.gain + 1e-12 * all * all) best = {gain, (before + after) / 2, axis};
      }
    }
    return best;
  }

  const Samples& samples_;
  std::vector<Box> leaves_;
};

double volume(const Box& box) {
  double product = 1;
  for (std::size_t axis = 0; axis < box.low.size(); ++axis) product *= box.size(axis);
  return product;
}

// The variance of the mean over all other parameters, along this one.
double variance_along(const std::vector<Box>& leaves, std::size_t axis, double mean) {
  std::vector<double> edges = {0, 1};
  for (const auto& box : leaves) edges.insert(edges.end(), {box.low[axis], box.high[axis]});
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  std::vector<double> marginal(edges.size(), 0);  // from each edge to the next
  for (const auto& box : leaves) {
    const double others = volume(box) / box.size(axis);
    const auto first = std::lower_bound(edges.begin(), edges.end(), box.low[axis]) - edges.begin();
    for (auto i = static_cast<std::size_t>(first); edges[i] < box.high[axis]; ++i)
      marginal[i] += box.value * others;
  }
  double variance = 0;
  for (std::size_t i = 0; i + 1 < edges.size(); ++i)
    variance += (edges[i + 1] - edges[i]) * (marginal[i] - mean) * (marginal[i] - mean);
  return variance;
}

void add_shares(const std::vector<Box>& leaves, std::vector<double>& shares) {
  double mean = 0, square = 0;
  for (const auto& box : leaves) {
    mean += volume(box) * box.value;
    square += volume(box) * box.value * box.value;
  }
  const double total = square - mean * mean;
  if (total <= 0) return;
  for (std::size_t axis = 0; axis < shares.size(); ++axis)
    shares[axis] += variance_along(leaves, axis, mean) / total;
}

}  // namespace

std::vector<std::pair<std::string, double>> importance(const History& history, std::size_t objective) {
  const auto samples = samples_of(history, objective);
  if (samples.losses.size() < fewest_trials || samples.names.empty()) return {};
  std::vector<double> shares(samples.names.size(), 0);
  for (std::uint64_t seed = 0; seed < trees; ++seed) add_shares(Tree(samples, seed).leaves(), shares);
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (!(sum > 0)) return {};
  std::vector<std::pair<std::string, double>> named;
  for (std::size_t i = 0; i < shares.size(); ++i) named.emplace_back(samples.names[i], shares[i] / sum);
  std::stable_sort(named.begin(), named.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return named;
}

}  // namespace longship::study
