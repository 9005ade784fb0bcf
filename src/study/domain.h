// SPDX-License-Identifier: Apache-2.0
// What one parameter may be: a real number, an integer, or one of several words. Values are doubles
// everywhere; that of a category is the index of its choice.
//
// Samplers work on an Axis: the same domain as the interval [0, 1], on which a logarithmic parameter is
// linear, and each value of a stepped one owns a cell of the interval, those at the ends too.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longship::study {

enum class Kind : std::uint8_t { real = 0, integer = 1, category = 2 };

struct Domain {
  Kind kind = Kind::real;
  double low = 0;
  double high = 1;
  double step = 0;  // 0: any real number
  bool log = false;
  std::vector<std::string> choices;

  bool operator==(const Domain&) const = default;
};

[[nodiscard]] Domain real(double low, double high, bool log = false, double step = 0);
[[nodiscard]] Domain integer(double low, double high, bool log = false, double step = 1);
[[nodiscard]] Domain category(std::vector<std::string> choices);

// An Error if nothing can be drawn from it; otherwise the domain, its upper end moved to the last step.
[[nodiscard]] Domain checked(std::string_view name, Domain domain);

[[nodiscard]] bool contains(const Domain& domain, double value);
[[nodiscard]] std::size_t count(const Domain& domain);  // how many values it has; 0: a continuum
[[nodiscard]] double nth(const Domain& domain, std::size_t index);
[[nodiscard]] bool is_single(const Domain& domain);
[[nodiscard]] std::string text_of(const Domain& domain);  // "a real number from 0.1 to 1, logarithmic"

class Axis {
 public:
  explicit Axis(const Domain& domain);

  [[nodiscard]] double position(double value) const;  // in [0, 1]
  [[nodiscard]] double value(double position) const;  // the nearest one that the domain has
  [[nodiscard]] bool is_stepped() const { return step_ > 0; }
  [[nodiscard]] bool is_category() const { return category_; }
  [[nodiscard]] std::size_t count() const { return count_; }
  // The cell of a stepped value.
  [[nodiscard]] double cell_begin(double value) const;
  [[nodiscard]] double cell_end(double value) const;

 private:
  [[nodiscard]] double place(double value) const;

  double low_, high_, step_;
  bool log_, category_;
  std::size_t count_;
  double begin_, width_;
};

}  // namespace longship::study
