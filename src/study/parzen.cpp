// SPDX-License-Identifier: Apache-2.0
#include "parzen.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "log_sum.h"
#include "normal.h"

namespace longship::study {
namespace {

constexpr std::size_t fully_counted = 25;
constexpr std::size_t most_cells =
    200;  // with more, the density in the middle of a cell is as good as its mass
constexpr float nowhere = -1e30F;
constexpr double narrowest_of_all = 0.01;
// More points than this tell more than a few wide kernels could show: a long study has to end somewhere.
constexpr double many_points = 50;

}  // namespace

Parzen::Parzen(std::vector<Axis> axes, Weights weights, double sharpness, double narrowest)
    : weights_(weights), sharpness_(sharpness), narrowest_(narrowest), present_{1} {
  for (auto& axis : axes) {
    const auto form = form_of(axis);
    dimensions_.push_back({std::move(axis), form, {}, {0}, {0}, {0}, {0}, {0}, {0}, {}, {}, {0}, {}, {}});
    set_kernel(dimensions_.back(), 0, 0.5, 1);
  }
}

Parzen::Form Parzen::form_of(const Axis& axis) {
  if (axis.is_category()) return Form::category;
  return axis.is_stepped() && axis.count() <= most_cells ? Form::cells : Form::continuous;
}

bool Parzen::has(std::size_t slot) const {
  return slot + 1 < present_.size() && present_[slot + 1] != 0;
}

void Parzen::insert(std::size_t slot, std::span<const double> point) {
  const auto place = static_cast<std::uint32_t>(slot + 1);
  if (present_.size() <= place) present_.resize(place + 1);
  present_[place] = 1;
  ++size_;
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    auto& dimension = dimensions_[i];
    for (auto* list : {&dimension.value, &dimension.position, &dimension.width})
      list->resize(present_.size());
    for (auto* list : {&dimension.scale, &dimension.shift, &dimension.norm}) list->resize(present_.size());
    dimension.row.resize(present_.size());
    dimension.value[place] = point[i];
    if (dimension.form == Form::category) continue;
    const double position = dimension.axis.position(point[i]);
    dimension.position[place] = position;
    const auto where =
        std::lower_bound(dimension.order.begin(), dimension.order.end(), std::pair(position, place));
    const auto rank = static_cast<std::size_t>(where - dimension.order.begin());
    dimension.order.insert(where, {position, place});
    update_around(dimension, rank);
  }
}

void Parzen::erase(std::size_t slot) {
  const auto place = static_cast<std::uint32_t>(slot + 1);
  present_[place] = 0;
  --size_;
  for (auto& dimension : dimensions_) {
    if (dimension.form == Form::category) continue;
    const auto where = std::lower_bound(dimension.order.begin(), dimension.order.end(),
                                        std::pair(dimension.position[place], place));
    const auto rank = static_cast<std::size_t>(where - dimension.order.begin());
    dimension.order.erase(where);
    update_around(dimension, rank);
  }
}

void Parzen::give_weights(std::span<const std::pair<std::size_t, double>> weights) {
  given_.assign(present_.size(), 1);
  for (const auto& [slot, weight] : weights) given_[slot + 1] = weight;
}

double Parzen::least_width() const {
  const double points = static_cast<double>(size_);
  const double floor = std::max(narrowest_of_all, narrowest_ * std::min(1.0, many_points / points));
  return std::max(floor, std::pow(2.0 + points, -sharpness_));
}

// The neighbours on both sides, and those whose own neighbour is an end or has moved there.
void Parzen::update_around(Dimension& dimension, std::size_t rank) const {
  const std::size_t begin = rank > 1 ? rank - 2 : 0;
  const std::size_t end = std::min(dimension.order.size(), rank + 3);
  for (std::size_t i = begin; i < end; ++i) update_width(dimension, i);
}

void Parzen::update_width(Dimension& dimension, std::size_t rank) const {
  const auto& order = dimension.order;
  const auto [position, place] = order[rank];
  const bool first = rank == 0, last = rank + 1 == order.size();
  const double left = position - (first ? 0 : order[rank - 1].first);
  const double right = (last ? 1 : order[rank + 1].first) - position;
  double width = std::max(left, right);
  if (first && !last) width = right;  // the distance to an end says nothing about the points
  if (last && !first) width = left;
  set_kernel(dimension, place, position, std::clamp(width, least_width(), 1.0));
}

void Parzen::set_kernel(Dimension& dimension, std::uint32_t place, double position, double width) const {
  dimension.position[place] = position;
  dimension.width[place] = width;
  if (dimension.form == Form::cells) {
    const auto [found, is_new] =
        dimension.rows.try_emplace({position, width}, static_cast<std::uint32_t>(dimension.kernels.size()));
    if (is_new) dimension.kernels.emplace_back(position, width);
    dimension.row[place] = found->second;
    dimension.norm[place] = 0;
    return;
  }
  const double scale = 1 / (width * std::numbers::sqrt2);
  dimension.scale[place] = static_cast<float>(scale);
  dimension.shift[place] = static_cast<float>(position * scale);
  dimension.norm[place] = static_cast<float>(-std::log(width * std::sqrt(2 * std::numbers::pi)) -
                                             log_normal_mass(-position / width, (1 - position) / width));
}

void Parzen::prepare() {
  if (const double floor = least_width(); floor != width_floor_) {
    for (auto& dimension : dimensions_)
      for (std::size_t rank = 0; rank < dimension.order.size(); ++rank) update_width(dimension, rank);
    width_floor_ = floor;
  }
  weigh();
  pack();
}

void Parzen::pack() {
  terms_.clear();
  packed_base_.clear();
  for (std::uint32_t place = 0; place < present_.size(); ++place)
    if (present_[place]) {
      terms_.push_back(place);
      packed_base_.push_back(base_[place]);
    }
  for (auto& dimension : dimensions_) {
    if (dimension.form != Form::continuous) continue;
    dimension.packed_scale.clear();
    dimension.packed_shift.clear();
    for (const auto place : terms_) {
      dimension.packed_scale.push_back(dimension.scale[place]);
      dimension.packed_shift.push_back(dimension.shift[place]);
    }
  }
}

void Parzen::weigh() {
  const auto total = static_cast<double>(size_);
  const bool ramp = weights_ == Weights::newest_more && size_ >= fully_counted;
  const auto ramp_steps = static_cast<double>(ramp ? size_ - fully_counted : 0);
  cumulated_.assign(present_.size(), 0);
  base_.assign(present_.size(), nowhere);
  double sum = 0, rank = 0;
  for (std::size_t place = 0; place < present_.size(); ++place) {
    if (present_[place]) {
      double weight = weights_ == Weights::given && place < given_.size() ? given_[place] : 1;
      if (place > 0 && ramp && rank < ramp_steps)
        weight = 1 / total + (ramp_steps > 1 ? (1 - 1 / total) * rank / (ramp_steps - 1) : 0);
      if (place > 0) ++rank;
      sum += weight;
      base_[place] = static_cast<float>(std::log(weight));
    }
    cumulated_[place] = sum;
  }
  const auto log_sum = static_cast<float>(std::log(sum));
  for (auto& term : base_) term -= log_sum;
  for (const auto& dimension : dimensions_)
    if (dimension.form == Form::continuous)
      for (std::size_t place = 0; place < base_.size(); ++place)
        base_[place] += present_[place] ? dimension.norm[place] : 0;
}

void Parzen::sample(Random& random, std::vector<double>& points, double share) const {
  const double chosen = share * cumulated_.back();
  const auto place = static_cast<std::size_t>(
      std::upper_bound(cumulated_.begin(), cumulated_.end() - 1, chosen) - cumulated_.begin());
  for (const auto& dimension : dimensions_) {
    if (dimension.form == Form::category) {
      const auto choices = static_cast<double>(dimension.axis.count());
      const double kernels = static_cast<double>(size_) + 1;
      // The choice that was seen, but for a small chance of any.
      const bool any = place == 0 || random.uniform() * (1 + choices / kernels) >= 1;
      points.push_back(any ? static_cast<double>(random.below(dimension.axis.count()))
                           : dimension.value[place]);
      continue;
    }
    const double position = dimension.position[place], width = dimension.width[place];
    const double z = truncated_normal_quantile(random.uniform(), -position / width, (1 - position) / width);
    points.push_back(dimension.axis.value(position + z * width));
  }
}

std::vector<double> Parzen::log_density(std::span<const double> points) const {
  std::vector<double> densities;
  std::vector<float> terms(packed_base_.size());
  for (std::size_t at = 0; at < points.size(); at += dimensions_.size()) {
    terms = packed_base_;
    for (std::size_t i = 0; i < dimensions_.size(); ++i) add_terms(dimensions_[i], points[at + i], terms);
    densities.push_back(log_sum_of_exponentials(terms));
  }
  return densities;
}

void Parzen::add_terms(const Dimension& dimension, double value, std::span<float> terms) const {
  if (dimension.form == Form::category) return add_choice(dimension, value, terms);
  if (dimension.form == Form::cells) return add_cells(dimension, value, terms);
  const auto x = static_cast<float>(dimension.axis.position(value));
  subtract_squares(x, dimension.packed_scale.data(), dimension.packed_shift.data(), terms);
}

void Parzen::add_choice(const Dimension& dimension, double value, std::span<float> terms) const {
  const auto choices = static_cast<double>(dimension.axis.count());
  const double kernels = static_cast<double>(size_) + 1;
  const auto hit = static_cast<float>(std::log((1 + 1 / kernels) / (1 + choices / kernels)));
  const auto miss = static_cast<float>(std::log((1 / kernels) / (1 + choices / kernels)));
  terms[0] -= static_cast<float>(std::log(choices));
  for (std::size_t i = 1; i < terms.size(); ++i) terms[i] += dimension.value[terms_[i]] == value ? hit : miss;
}

void Parzen::add_cells(const Dimension& dimension, double value, std::span<float> terms) const {
  const double begin = dimension.axis.cell_begin(value), end = dimension.axis.cell_end(value);
  std::vector<float> mass(dimension.kernels.size(), 1);  // log, so never above 0 once it is known
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const auto place = terms_[i];
    auto& known = mass[dimension.row[place]];
    if (known > 0) {
      const auto [position, width] = dimension.kernels[dimension.row[place]];
      const auto between = [&, p = position, w = width](double from, double to) {
        return log_normal_mass((from - p) / w, (to - p) / w);
      };
      known = static_cast<float>(std::min(0.0, between(begin, end) - between(0, 1)));
    }
    terms[i] += known;
  }
}

}  // namespace longship::study
