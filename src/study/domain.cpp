// SPDX-License-Identifier: Apache-2.0
#include "domain.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"

namespace longship::study {
namespace {

constexpr double slack = 1e-8;  // of a step: 0.1 * 3 is not 0.3

void check_numbers(std::string_view name, const Domain& domain) {
  if (!std::isfinite(domain.low) || !std::isfinite(domain.high))
    throw Error(Failure::usage, "parameter \"{}\": its ends have to be finite numbers", name);
  if (domain.low > domain.high)
    throw Error(Failure::usage, "parameter \"{}\": it begins at {} and ends at {}, below that", name,
                domain.low, domain.high);
  if (domain.log && domain.low <= 0)
    throw Error(Failure::usage, "parameter \"{}\": a logarithmic one has to begin above 0, not at {}", name,
                domain.low);
  if (!std::isfinite(domain.step) || domain.step < 0 || (domain.kind == Kind::integer && domain.step < 1))
    throw Error(Failure::usage, "parameter \"{}\": {} is no step", name, domain.step);
  if (domain.log && domain.step > 0 && !(domain.kind == Kind::integer && domain.step == 1))
    throw Error(Failure::usage, "parameter \"{}\": it can be logarithmic or have steps, not both", name);
  if (domain.kind != Kind::integer) return;
  for (const double number : {domain.low, domain.high, domain.step})
    if (number != std::floor(number) || std::abs(number) > 0x1p53)
      throw Error(Failure::usage, "parameter \"{}\": {} is no integer", name, number);
}

void check_choices(std::string_view name, const Domain& domain) {
  if (domain.choices.empty())
    throw Error(Failure::usage, "parameter \"{}\" has nothing to choose from", name);
  std::set<std::string_view> seen;
  for (const auto& choice : domain.choices)
    if (!seen.insert(choice).second)
      throw Error(Failure::usage, "parameter \"{}\" has the choice {} twice", name, choice);
}

}  // namespace

Domain real(double low, double high, bool log, double step) {
  return {Kind::real, low, high, step, log, {}};
}

Domain integer(double low, double high, bool log, double step) {
  return {Kind::integer, low, high, step, log, {}};
}

Domain category(std::vector<std::string> choices) {
  const auto last = static_cast<double>(choices.size()) - 1;
  return {Kind::category, 0, last, 1, false, std::move(choices)};
}

Domain checked(std::string_view name, Domain domain) {
  if (name.empty()) throw Error(Failure::usage, "a parameter needs a name");
  if (domain.kind == Kind::category) {
    check_choices(name, domain);
    return category(std::move(domain.choices));
  }
  check_numbers(name, domain);
  if (domain.step > 0 && !domain.log)
    domain.high = domain.low + std::floor((domain.high - domain.low) / domain.step + slack) * domain.step;
  return domain;
}

bool contains(const Domain& domain, double value) {
  if (!(value >= domain.low - slack * domain.step && value <= domain.high + slack * domain.step))
    return false;
  if (domain.step == 0) return true;
  const double steps = (value - domain.low) / domain.step;
  return std::abs(steps - std::round(steps)) < slack;
}

std::size_t count(const Domain& domain) {
  if (domain.step == 0) return is_single(domain) ? 1 : 0;
  return static_cast<std::size_t>((domain.high - domain.low) / domain.step + 0.5) + 1;
}

double nth(const Domain& domain, std::size_t index) {
  return std::min(domain.high, domain.low + static_cast<double>(index) * domain.step);
}

bool is_single(const Domain& domain) {
  return domain.low == domain.high;
}

std::string text_of(const Domain& domain) {
  if (domain.kind == Kind::category) return fmt::format("one of {} choices", domain.choices.size());
  auto text = fmt::format("{} from {} to {}", domain.kind == Kind::real ? "a real number" : "an integer",
                          domain.low, domain.high);
  if (domain.log) text += ", logarithmic";
  if (domain.step > (domain.kind == Kind::integer ? 1 : 0))
    text += fmt::format(", in steps of {}", domain.step);
  return text;
}

Axis::Axis(const Domain& domain)
    : low_(domain.low),
      high_(domain.high),
      step_(domain.step),
      log_(domain.log),
      category_(domain.kind == Kind::category),
      count_(study::count(domain)) {
  begin_ = place(low_ - step_ / 2);
  width_ = place(high_ + step_ / 2) - begin_;
}

double Axis::place(double value) const {
  return log_ ? std::log(value) : value;
}

double Axis::position(double value) const {
  return width_ > 0 ? std::clamp((place(value) - begin_) / width_, 0.0, 1.0) : 0.5;
}

double Axis::value(double position) const {
  const double at = begin_ + std::clamp(position, 0.0, 1.0) * width_;
  double value = log_ ? std::exp(at) : at;
  if (step_ > 0) value = low_ + std::round((value - low_) / step_) * step_;
  return std::clamp(value, low_, high_);
}

double Axis::cell_begin(double value) const {
  return position(value - step_ / 2);
}

double Axis::cell_end(double value) const {
  return position(value + step_ / 2);
}

}  // namespace longship::study
