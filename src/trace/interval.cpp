// SPDX-License-Identifier: Apache-2.0
#include "interval.h"

#include <algorithm>

namespace longship::trace {

Intervals normalized(Intervals any) {
  std::erase_if(any, [](const Interval& interval) { return interval.end <= interval.begin; });
  std::sort(any.begin(), any.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  Intervals set;
  for (const auto& interval : any) {
    if (!set.empty() && interval.begin <= set.back().end)
      set.back().end = std::max(set.back().end, interval.end);
    else
      set.push_back(interval);
  }
  return set;
}

Intervals unite(const Intervals& a, const Intervals& b) {
  Intervals both = a;
  both.insert(both.end(), b.begin(), b.end());
  return normalized(std::move(both));
}

Intervals intersect(const Intervals& a, const Intervals& b) {
  Intervals common;
  for (auto left = a.begin(), right = b.begin(); left != a.end() && right != b.end();) {
    const Interval part{std::max(left->begin, right->begin), std::min(left->end, right->end)};
    if (part.begin < part.end) common.push_back(part);
    if (left->end < right->end)
      ++left;
    else
      ++right;
  }
  return common;
}

Intervals subtract(const Intervals& a, const Intervals& b) {
  Intervals rest;
  auto cut = b.begin();
  for (auto [begin, end] : a) {
    while (cut != b.end() && cut->end <= begin) ++cut;
    for (auto next = cut; next != b.end() && next->begin < end; ++next) {
      if (begin < next->begin) rest.push_back({begin, next->begin});
      begin = std::max(begin, next->end);
    }
    if (begin < end) rest.push_back({begin, end});
  }
  return rest;
}

std::int64_t length(const Intervals& set) {
  std::int64_t sum = 0;
  for (const auto& interval : set) sum += interval.length();
  return sum;
}

}  // namespace longship::trace
