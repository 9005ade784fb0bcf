// SPDX-License-Identifier: Apache-2.0
// The agents' connections as the hub's threads use them: one sender at a time, and nothing after close().
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "hub.h"

namespace longship::hub {

class Links {
 public:
  Hub::LinkId add(std::shared_ptr<AgentLink> link) {
    const std::lock_guard lock(mutex_);
    links_[++last_] = std::make_shared<Entry>(std::move(link));
    return last_;
  }
  void send(Hub::LinkId id, std::string frame) {
    if (const auto entry = find(id)) {
      const std::lock_guard lock(entry->mutex);
      if (!entry->closed) entry->link->send(std::move(frame));
    }
  }
  void close(Hub::LinkId id) {
    if (const auto entry = remove(id)) {
      const std::lock_guard lock(entry->mutex);
      if (!std::exchange(entry->closed, true)) entry->link->close();
    }
  }
  // It is closed already.
  void forget(Hub::LinkId id) {
    if (const auto entry = remove(id)) {
      const std::lock_guard lock(entry->mutex);
      entry->closed = true;
    }
  }
  void close_all() {
    std::map<Hub::LinkId, std::shared_ptr<Entry>> all;
    {
      const std::lock_guard lock(mutex_);
      all = links_;
    }
    for (const auto& [id, entry] : all) close(id);
  }
  // An agent that was welcomed may fetch bytes.
  void welcome(Hub::LinkId id) {
    if (const auto entry = find(id)) entry->welcome = true;
  }
  [[nodiscard]] bool is_welcome(Hub::LinkId id) {
    const auto entry = find(id);
    return entry != nullptr && entry->welcome;
  }

 private:
  struct Entry {
    explicit Entry(std::shared_ptr<AgentLink> opened) : link(std::move(opened)) {}
    std::shared_ptr<AgentLink> link;
    std::mutex mutex;
    bool closed = false;
    std::atomic<bool> welcome{false};
  };
  std::shared_ptr<Entry> find(Hub::LinkId id) {
    const std::lock_guard lock(mutex_);
    const auto found = links_.find(id);
    return found == links_.end() ? nullptr : found->second;
  }
  std::shared_ptr<Entry> remove(Hub::LinkId id) {
    const std::lock_guard lock(mutex_);
    const auto found = links_.find(id);
    if (found == links_.end()) return nullptr;
    auto entry = found->second;
    links_.erase(found);
    return entry;
  }

  std::mutex mutex_;
  std::map<Hub::LinkId, std::shared_ptr<Entry>> links_;
  Hub::LinkId last_ = 0;
};

}  // namespace longship::hub
