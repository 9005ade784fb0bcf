// SPDX-License-Identifier: Apache-2.0
#include "lines.h"

#include <algorithm>

namespace longship::launch {

void LineSplitter::feed(std::string_view bytes, const Take& take) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto room = limit_ - partial_.size();
    const auto length = std::min({end, bytes.size(), room});
    const bool complete = length == end;
    if (complete && partial_.empty()) {
      take(bytes.substr(0, length));
    } else {
      partial_.append(bytes.substr(0, length));
      if (complete || partial_.size() == limit_) finish(take);
    }
    bytes.remove_prefix(length + (complete ? 1 : 0));
  }
}

void LineSplitter::finish(const Take& take) {
  if (partial_.empty()) return;
  take(partial_);
  partial_.clear();
}

std::string_view after_returns(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  const auto last = line.rfind('\r');
  return last == std::string_view::npos ? line : line.substr(last + 1);
}

void Tail::feed(std::string_view bytes) {
  splitter_.feed(bytes, [this](std::string_view line) { add(line); });
}

std::string Tail::text() {
  splitter_.finish([this](std::string_view line) { add(line); });
  std::string text;
  for (const auto& line : lines_) text.append(line).push_back('\n');
  return text;
}

void Tail::add(std::string_view line) {
  lines_.emplace_back(after_returns(line));
  if (lines_.size() > most_) lines_.pop_front();
}

}  // namespace longship::launch
