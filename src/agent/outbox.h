// SPDX-License-Identifier: Apache-2.0
// Facts on their way to the hub: written here first, sent until the hub says that it has stored them.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/record_log.h"
#include "message/hub_messages.h"
#include "message/spool.h"

namespace longship::agent {

class Outbox {
 public:
  // A log without a name, or a name without a log, starts anew under another name: its numbers mean nothing.
  Outbox(const message::Spool& spool, const std::function<std::string()>& new_name);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool is_new() const { return new_; }  // it was begun just now
  void replay(const std::function<void(std::uint64_t, const message::Fact&)>& take) const;
  void append(const std::vector<message::Fact>& facts);  // durable when this returns
  [[nodiscard]] std::uint64_t size() const { return writer_.next_number(); }

  // Facts from here on are to be sent.
  void send_from(std::uint64_t number);
  // The next ones, at most this many and not much more than this many bytes; empty when all are sent.
  [[nodiscard]] message::WrittenFacts next(std::size_t most, std::size_t bytes);

 private:
  std::filesystem::path path_;
  bool new_ = false;
  std::string name_;
  RecordLogWriter writer_;
  std::optional<RecordLogReader> reader_;
  std::uint64_t sent_ = 0;  // the reader's next
};

}  // namespace longship::agent
