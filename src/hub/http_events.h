// SPDX-License-Identifier: Apache-2.0
// The last things that happened, for those who watch (GET /v1/events): each has a number, so that one who was
// away goes on where it stopped. Who was away for too long, or since before the hub was started, is told to
// look anew.
#pragma once
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

namespace longship::hub::http {

class EventRing {
 public:
  // `era` is another one after each start of the hub; the numbers of another era mean nothing.
  explicit EventRing(std::uint64_t era, std::size_t capacity = 10'000) : era_(era), capacity_(capacity) {}

  void add(std::string_view kind, std::string_view json);

  // Where somebody stands: behind the event with this id, or at the end if the id is empty. Not `known`:
  // events were missed.
  struct Cursor {
    std::uint64_t next = 0;
    bool known = true;
  };
  [[nodiscard]] Cursor find(std::string_view last_event_id) const;

  // Events from the cursor on, as text/event-stream, about `limit` bytes at most, and moves it; begins with a
  // "reset" event if some were missed. Empty: there are none.
  [[nodiscard]] std::string take(Cursor& cursor, std::size_t limit = std::size_t{256} << 10) const;

 private:
  [[nodiscard]] std::uint64_t end() const { return first_ + events_.size(); }

  const std::uint64_t era_;
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::uint64_t first_ = 1;         // number of the oldest
  std::deque<std::string> events_;  // as they are sent
};

}  // namespace longship::hub::http
