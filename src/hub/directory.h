// SPDX-License-Identifier: Apache-2.0
// The hub's directory: 0700, and one hub's at a time.
//
//   lock      held while a hub runs; its process id is in it
//   hub.json  {"url", "pid"} while one serves (written by whoever knows the address)
//   token     0600: what the owner's own commands use
//   hub.db    the store
//   blobs/    blobs.h
#pragma once
#include <filesystem>
#include <string>

#include "base/fd.h"

namespace longship::hub {

class Directory {
 public:
  explicit Directory(std::filesystem::path path);  // a second hub is an Error that names the first
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] const std::string& token() const { return token_; }

 private:
  void take_lock();
  void read_token();

  std::filesystem::path path_;
  Fd lock_;
  std::string token_;
};

[[nodiscard]] std::string user_name();  // of this process

}  // namespace longship::hub
