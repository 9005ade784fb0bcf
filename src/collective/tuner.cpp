// SPDX-License-Identifier: Apache-2.0
#include "tuner.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

namespace longship::collective {
namespace {

constexpr double worth_trying = 3;  // times as dear as the best

std::string duration(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} µs", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.1f} ms", seconds * 1e3) : fmt::format("{:.2f} s", seconds);
}

std::string size_text(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  return bytes < 1024 * 1024 ? fmt::format("{} KiB", bytes / 1024) : fmt::format("{} MiB", bytes >> 20);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string spread_text(const Layout& layout) {
  return fmt::format("{} rank{} on {} node{}", layout.ranks, layout.ranks == 1 ? "" : "s", layout.nodes,
                     layout.nodes == 1 ? "" : "s");
}

}  // namespace

Tuner::Key Tuner::key(std::uint64_t bytes, const Layout& layout) {
  return {static_cast<int>(std::bit_width(bytes)), {layout.ranks, layout.nodes, layout.shares_memory}};
}

Way Tuner::choose(std::uint64_t bytes, const Layout& layout) {
  if (layout.shares_memory) return Way::direct;
  const auto [found, is_new] = classes_.try_emplace(key(bytes, layout));
  Class& one = found->second;
  if (is_new) one = fresh(bytes, layout);
  if (one.is_settled) return one.best;
  for (const Way way : one.candidates)
    if (one.seconds[way].size() < tries) return way;
  settle(one, bytes, layout);
  return one.best;
}

void Tuner::measured(Way way, std::uint64_t bytes, const Layout& layout, double seconds) {
  const auto found = classes_.find(key(bytes, layout));
  if (found == classes_.end() || found->second.is_settled) return;
  found->second.seconds[way].push_back(seconds);
}

Tuner::Class Tuner::fresh(std::uint64_t bytes, const Layout& layout) const {
  const auto cost = [&](Way way) { return expected(way, static_cast<double>(bytes), layout, costs_); };
  Class one;
  one.candidates = ways(layout);
  std::stable_sort(one.candidates.begin(), one.candidates.end(),
                   [&](Way a, Way b) { return cost(a) < cost(b); });
  const double limit = worth_trying * cost(one.candidates.front());
  std::erase_if(one.candidates, [&](Way way) { return cost(way) > limit; });
  return one;
}

void Tuner::settle(Class& one, std::uint64_t bytes, const Layout& layout) {
  one.is_settled = true;
  one.best = *std::min_element(one.candidates.begin(), one.candidates.end(), [&](Way a, Way b) {
    return median(one.seconds.at(a)) < median(one.seconds.at(b));
  });
  if (!log_) return;
  std::string text;
  for (const Way way : one.candidates)
    text += fmt::format("{}{} {} (expected {})", text.empty() ? "" : ", ", name_of(way),
                        duration(median(one.seconds.at(way))),
                        duration(expected(way, static_cast<double>(bytes), layout, costs_)));
  log_(fmt::format("all-reduce of about {} by {}: {} from now on; {}", size_text(bytes), spread_text(layout),
                   name_of(one.best), text));
}

std::string Tuner::table(const Layout& layout) const {
  std::string text = fmt::format("all-reduce by {}{}\n", spread_text(layout),
                                 layout.shares_memory ? ", which share memory" : "");
  text += fmt::format("{:>9}", "bytes");
  for (const Way way : ways(layout)) text += fmt::format("  {:>26}", name_of(way));
  text += '\n';
  for (std::uint64_t bytes = 1024; bytes <= std::uint64_t{256} << 20; bytes *= 4) {
    text += fmt::format("{:>9}", size_text(bytes));
    const auto found = classes_.find(key(bytes, layout));
    Class one = found == classes_.end() ? fresh(bytes, layout) : found->second;
    const Way taken = one.is_settled ? one.best : one.candidates.front();
    for (const Way way : ways(layout)) {
      std::string cell = duration(expected(way, static_cast<double>(bytes), layout, costs_));
      if (const auto& times = one.seconds[way]; !times.empty())
        cell += fmt::format(", was {}", duration(median(times)));
      text += fmt::format("  {:>25}{}", cell, way == taken ? '*' : ' ');
    }
    text += '\n';
  }
  return text;
}

}  // namespace longship::collective
