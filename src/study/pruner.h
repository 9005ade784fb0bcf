// SPDX-License-Identifier: Apache-2.0
// Which trials are given up before their end, judged by what they reported on the way. None are, unless a
// pruner was asked for: a slow starter may win.
#pragma once
#include <memory>
#include <string_view>

#include "history.h"
#include "options.h"

namespace longship::study {

class Pruner {
 public:
  virtual ~Pruner() = default;
  // After the last report of a running trial, which has at least one.
  [[nodiscard]] virtual bool should_prune(const History& history, const Trial& trial) const = 0;
};

// median, percentile, asha, hyperband, threshold, patient. Unknown names and options are Errors.
[[nodiscard]] std::unique_ptr<Pruner> make_pruner(std::string_view name, const Options& options = {});

}  // namespace longship::study
