// SPDX-License-Identifier: Apache-2.0
// Who a token belongs to, asked with every request from any thread while the hub's own gives tokens out and
// revokes them.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "request.h"
#include "secrets.h"

namespace longship::hub {

class Callers {
 public:
  using ByHash = std::unordered_map<std::string, Caller>;

  void publish(ByHash known) {
    auto all = std::make_shared<const ByHash>(std::move(known));
    const std::lock_guard lock(mutex_);
    known_ = std::move(all);
  }

  [[nodiscard]] std::optional<Caller> find(std::string_view token) const {
    const auto hash = token_hash(token);
    const auto known = [this] {
      const std::lock_guard lock(mutex_);
      return known_;
    }();
    const auto found = known->find(hash);
    return found == known->end() ? std::nullopt : std::optional(found->second);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const ByHash> known_ = std::make_shared<const ByHash>();
};

}  // namespace longship::hub
