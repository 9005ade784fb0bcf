// SPDX-License-Identifier: Apache-2.0
// Rank 0's choice of the way for each all-reduce: the cheapest by the model at first, by the clock later.
//
// Sizes fall into classes of powers of two. In each, the ways that the model thinks to be at most three times
// as dear as the best are tried a few times each, the most promising first; from then on the one whose median
// was least is taken. Trying is training: no time is spent on anything but the job's own tensors.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "costs.h"

namespace longship::collective {

class Tuner {
 public:
  using Log = std::function<void(const std::string&)>;
  explicit Tuner(Costs costs, Log log = {}) : costs_(costs), log_(std::move(log)) {}

  [[nodiscard]] Way choose(std::uint64_t bytes, const Layout& layout);

  // How long one took that was chosen here.
  void measured(Way way, std::uint64_t bytes, const Layout& layout, double seconds);

  // What is expected and what was measured, for people.
  [[nodiscard]] std::string table(const Layout& layout) const;

 private:
  static constexpr std::size_t tries = 5;  // of each way in a class of sizes

  struct Class {
    std::vector<Way> candidates;  // the most promising first
    std::map<Way, std::vector<double>> seconds;
    bool is_settled = false;
    Way best = Way::ring;
  };
  using Key = std::pair<int, std::vector<int>>;  // size class, layout

  [[nodiscard]] static Key key(std::uint64_t bytes, const Layout& layout);
  [[nodiscard]] Class fresh(std::uint64_t bytes, const Layout& layout) const;
  void settle(Class& one, std::uint64_t bytes, const Layout& layout);

  Costs costs_;
  Log log_;
  std::map<Key, Class> classes_;
};

}  // namespace longship::collective
