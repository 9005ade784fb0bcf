// SPDX-License-Identifier: Apache-2.0
// The settings of a sampler or pruner as words: "startup=10,multivariate=0".
#pragma once
#include <map>
#include <string>
#include <string_view>

namespace longship::study {

class Options {
 public:
  Options() = default;
  explicit Options(std::string_view text);

  // The value of a number by its name, or what it is if not said.
  [[nodiscard]] double number(const std::string& name, double otherwise) const;
  [[nodiscard]] bool yes(const std::string& name, bool otherwise) const;
  // An Error that names the first option nobody asked for: called when all have been read.
  void check_all_known(std::string_view whose) const;

 private:
  std::map<std::string, double> values_;
  mutable std::map<std::string, bool> asked_;
};

}  // namespace longship::study
