// SPDX-License-Identifier: Apache-2.0
#include "tuner.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

namespace longship::collective {
namespace {

constexpr double worth_trying = 3;      // times as dear as the best
constexpr double worth_changing = 0.9;  // of what the more promising took: less is noise

std::string duration(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} µs", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.1f} ms", seconds * 1e3) : fmt::format("{:.2f} s", seconds);
}

std::string size_text(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  return bytes < 1024 * 1024 ? fmt::format("{} KiB", bytes / 1024) : fmt::format("{} MiB", bytes >> 20);
}

// The lower quartile: what disturbs a measurement only makes it longer.
double typical(std::vector<double> values) {
  const auto quarter = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
  std::nth_element(values.begin(), quarter, values.end());
  return *quarter;
}

std::string tensors_text(std::size_t count) {
  return fmt::format("{} tensor{}", count, count == 1 ? "" : "s");
}

template <class T>
T middle(std::vector<T> values) {
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  return *half;
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

// Each time after four times as many: who trains for days wants no more lines than who tries it out.
void Tuner::batched(std::size_t tensors, std::uint64_t bytes) {
  if (!log_) return;
  batch_tensors_.push_back(tensors);
  batch_bytes_.push_back(bytes);
  if (batch_bytes_.size() < batches_to_tell_) return;
  const auto most = *std::max_element(batch_tensors_.begin(), batch_tensors_.end());
  log_(fmt::format("fusion: of {} all-reduces one in the middle had {} and {}, the largest {}",
                   batch_bytes_.size(), tensors_text(middle(batch_tensors_)), size_text(middle(batch_bytes_)),
                   tensors_text(most)));
  batch_tensors_.clear();
  batch_bytes_.clear();
  batches_to_tell_ *= 4;
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
  one.best = one.candidates.front();
  for (const Way way : one.candidates)
    if (typical(one.seconds.at(way)) < worth_changing * typical(one.seconds.at(one.best))) one.best = way;
  if (!log_) return;
  std::string text;
  for (const Way way : one.candidates)
    text += fmt::format("{}{} {} (expected {})", text.empty() ? "" : ", ", name_of(way),
                        duration(typical(one.seconds.at(way))),
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
        cell += fmt::format(", was {}", duration(typical(times)));
      text += fmt::format("  {:>25}{}", cell, way == taken ? '*' : ' ');
    }
    text += '\n';
  }
  return text;
}

}  // namespace longship::collective
