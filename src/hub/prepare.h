// SPDX-License-Identifier: Apache-2.0
// A request made ready for next(): jobs read, blobs looked for, tokens made. Runs in the asker's thread, so
// that the hub's own does nothing but decide.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "blobs.h"
#include "event.h"

namespace longship::hub {

class Preparation {
 public:
  explicit Preparation(const Blobs& blobs) : blobs_(blobs) {}
  // Throws Refusal.
  [[nodiscard]] Asked prepare(std::uint64_t id, const Caller& caller, Request request);

 private:
  void prepare_submit(Asked& asked, Submit& submit);
  [[nodiscard]] std::shared_ptr<const Spec> read_spec(const std::string& text);

  const Blobs& blobs_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const Spec>> recent_;  // by their text
};

}  // namespace longship::hub
