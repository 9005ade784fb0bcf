// SPDX-License-Identifier: Apache-2.0
#include "event_lines.h"

#include "base/error.h"

namespace longship::net {

void EventLines::add(std::string_view bytes) {
  pending_ += bytes;
  std::size_t from = 0;
  for (auto end = pending_.find('\n', from); end != std::string::npos; end = pending_.find('\n', from)) {
    auto one = std::string_view(pending_).substr(from, end - from);
    if (one.ends_with('\r')) one.remove_suffix(1);
    line(one);
    from = end + 1;
  }
  pending_.erase(0, from);
  if (pending_.size() > longest || event_.data.size() > longest)
    throw Error("the stream of events makes no sense: a line without an end");
}

void EventLines::line(std::string_view line) {
  if (line.empty()) {
    if (has_data_) take_(event_);
    event_.kind = "message";
    event_.data.clear();
    has_data_ = false;
    return;
  }
  const auto colon = line.find(':');
  const auto field = line.substr(0, colon);  // empty: a comment
  auto value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") {
    event_.kind = value;
  } else if (field == "id") {
    event_.id = value;
  } else if (field == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
  }
}

}  // namespace longship::net
