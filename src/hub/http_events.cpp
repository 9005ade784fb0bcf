// SPDX-License-Identifier: Apache-2.0
#include "http_events.h"

#include <fmt/core.h>

#include <charconv>

#include "base/text.h"

namespace longship::hub::http {

void EventRing::add(std::string_view kind, std::string_view json) {
  const std::lock_guard lock(mutex_);
  std::string text = fmt::format("id: {}-{}\nevent: {}\n", era_, end(), kind);
  for (const auto line : split(json, '\n')) text += fmt::format("data: {}\n", line);
  events_.push_back(text + "\n");
  if (events_.size() <= capacity_) return;
  events_.pop_front();
  ++first_;
}

EventRing::Cursor EventRing::find(std::string_view last_event_id) const {
  const std::lock_guard lock(mutex_);
  if (last_event_id.empty()) return {end(), true};
  const auto dash = last_event_id.find('-');
  std::uint64_t number = 0;
  if (dash == std::string_view::npos || last_event_id.substr(0, dash) != std::to_string(era_))
    return {end(), false};
  const auto* last = last_event_id.data() + last_event_id.size();
  const auto [stop, problem] = std::from_chars(last_event_id.data() + dash + 1, last, number);
  if (problem != std::errc() || stop != last || number >= end()) return {end(), false};
  return {number + 1, number + 1 >= first_};
}

std::string EventRing::take(Cursor& cursor, std::size_t limit) const {
  const std::lock_guard lock(mutex_);
  std::string text;
  if (!cursor.known || cursor.next < first_) {
    cursor = {end(), true};
    return fmt::format("id: {}-{}\nevent: reset\ndata: {{}}\n\n", era_, end() - 1);
  }
  while (cursor.next < end() && text.size() < limit) text += events_[cursor.next++ - first_];
  return text;
}

}  // namespace longship::hub::http
