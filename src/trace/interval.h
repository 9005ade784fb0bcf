// SPDX-License-Identifier: Apache-2.0
// Sets of moments: sorted, disjoint, half-open intervals of nanoseconds. What a report computes is made of
// their unions, intersections and lengths, so that nothing is counted twice however things overlap.
#pragma once
#include <cstdint>
#include <vector>

namespace longship::trace {

struct Interval {
  std::int64_t begin = 0, end = 0;
  bool operator==(const Interval&) const = default;
  [[nodiscard]] std::int64_t length() const { return end > begin ? end - begin : 0; }
};
using Intervals = std::vector<Interval>;

[[nodiscard]] Intervals normalized(Intervals any);  // any order, overlapping, empty ones too
[[nodiscard]] Intervals unite(const Intervals& a, const Intervals& b);
[[nodiscard]] Intervals intersect(const Intervals& a, const Intervals& b);
[[nodiscard]] Intervals subtract(const Intervals& a, const Intervals& b);
[[nodiscard]] std::int64_t length(const Intervals& set);

}  // namespace longship::trace
