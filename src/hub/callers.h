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
#include <unordered_set>
#include <utility>
#include <vector>

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

  [[nodiscard]] std::optional<Caller> find(std::string_view token) {
    const auto hash = token_hash(token);
    const std::lock_guard lock(mutex_);
    const auto found = known_->find(hash);
    if (found == known_->end()) return std::nullopt;
    used_.insert(hash);
    return found->second;
  }

  // Whether the token that this caller came with still counts.
  [[nodiscard]] bool knows(const Caller& caller) {
    const std::lock_guard lock(mutex_);
    if (!known_->contains(caller.token)) return false;
    used_.insert(caller.token);
    return true;
  }

  // Hashes of those that were asked for since the last time.
  [[nodiscard]] std::vector<std::string> take_used() {
    const std::lock_guard lock(mutex_);
    const auto used = std::exchange(used_, {});
    return {used.begin(), used.end()};
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const ByHash> known_ = std::make_shared<const ByHash>();
  std::unordered_set<std::string> used_;
};

}  // namespace longship::hub
