// SPDX-License-Identifier: Apache-2.0
// Texts that many rows share (owners, queues, nodes, reasons), each kept once and called by a number.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace longship::hub {

using TextId = std::uint32_t;  // 0: the empty text

class Texts {
 public:
  Texts() { id(""); }
  Texts(const Texts&) = delete;
  Texts& operator=(const Texts&) = delete;

  TextId id(std::string_view text) {
    if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
    const auto fresh = static_cast<TextId>(texts_.size());
    ids_.emplace(texts_.emplace_back(text), fresh);
    return fresh;
  }
  [[nodiscard]] const std::string& operator[](TextId id) const { return texts_[id]; }
  [[nodiscard]] std::optional<TextId> find(std::string_view text) const {
    const auto found = ids_.find(text);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] std::size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  // never moves what it holds
  std::unordered_map<std::string_view, TextId> ids_;
};

}  // namespace longship::hub
