// SPDX-License-Identifier: Apache-2.0
// Studies as their owners show them: each the JSON that `longship study run --submit` sends while it runs.
// Two files each, written aside and renamed: the whole, and the head that lists need. Any thread may ask.
//
//   DIR/DIGEST.json, DIR/DIGEST.head     the digest is that of owner and name
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "request.h"

namespace longship::hub {

class Studies {
 public:
  static constexpr std::size_t largest = std::size_t{32} << 20;

  // `owner`: of the hub, who sees all of them.
  Studies(std::filesystem::path directory, std::string owner);

  // The caller's study of this name, in place of the one before. An Error says what is wrong with it.
  void put(const Caller& caller, const std::string& name, std::string_view json) const;
  // {"studies": [{"name", "owner", "updated", "objectives", "counts", "best"}]} of those that the caller may
  // see, newest first.
  [[nodiscard]] std::string list(const Caller& caller) const;
  // Nothing: there is none, or none that the caller may see.
  [[nodiscard]] std::optional<std::string> find(const Caller& caller, const std::string& owner,
                                                const std::string& name) const;
  // Whether it is his own, or one that is shown to him.
  [[nodiscard]] bool may_read(const Caller& caller, const std::string& owner, const std::string& name) const;

 private:
  [[nodiscard]] std::filesystem::path file_of(const std::string& owner, const std::string& name) const;

  std::filesystem::path directory_;
  std::string owner_;
};

}  // namespace longship::hub
