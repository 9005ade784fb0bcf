// SPDX-License-Identifier: Apache-2.0
// Server-sent events out of a stream of bytes: https://html.spec.whatwg.org/multipage/server-sent-events.html
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace longship::net {

struct ServerEvent {
  std::string kind = "message";
  std::string data;
  std::string id;  // of this event, or the last one that had an id
};

class EventLines {
 public:
  using Take = std::function<void(const ServerEvent&)>;
  explicit EventLines(Take take) : take_(std::move(take)) {}
  void add(std::string_view bytes);

 private:
  void line(std::string_view line);
  static constexpr std::size_t longest = std::size_t{4}
                                         << 20;  // of a line or of an event's data; more is an Error

  Take take_;
  std::string pending_;
  ServerEvent event_;
  bool has_data_ = false;
};

}  // namespace longship::net
