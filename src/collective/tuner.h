// SPDX-License-Identifier: Apache-2.0
// Rank 0's choice of the way for each all-reduce: the cheapest by the model at first, by the clock later.
//
// Sizes fall into classes of powers of two. In each, the ways that the model thinks to be at most three times
// as dear as the best are tried a few times each, the most promising first; from then on the quickest is
// taken. Trying is training: no time is spent on anything but the job's own tensors.
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

  // So many tensors were decided as one all-reduce. Their number follows from how long the one before takes,
  // and is told from time to time.
  void batched(std::size_t tensors, std::uint64_t bytes);

  // What is expected and what was measured, for people.
  [[nodiscard]] std::string table(const Layout& layout) const;

 private:
  static constexpr std::size_t tries = 5;           // of each way in a class of sizes
  static constexpr std::size_t first_batches = 64;  // until they are told of for the first time

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
  std::vector<std::size_t> batch_tensors_;  // since they were last told of
  std::vector<std::uint64_t> batch_bytes_;
  std::size_t batches_to_tell_ = first_batches;
};

}  // namespace longship::collective
