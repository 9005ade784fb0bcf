// SPDX-License-Identifier: Apache-2.0
// What is so small that it travels with the words about it: a rank that announces a tiny all-reduce sends its
// values along, and rank 0 answers with their sum. Two messages on the way instead of the four or more that
// it takes to agree first and to reduce then. For ranks that have no memory in common; rank 0's side of it.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "request.h"

namespace longship::collective {

class Eager {
 public:
  // Whether its values may be sent along, among so many ranks.
  [[nodiscard]] static bool fits(const Announcement& what, int ranks);

  // This rank's values as they are sent: scaled, and not changed in place before all agree.
  [[nodiscard]] static std::vector<std::byte> values_of(const Announcement& what, const std::byte* data);

  void keep(int from, const std::string& name, std::span<const std::byte> values);

  // The result, if the values of all ranks are there; `own` are those of rank 0, as above. They are
  // forgotten.
  [[nodiscard]] std::vector<std::byte> reduced(const Announcement& what, std::vector<std::byte> own,
                                               int ranks);
  void forget(const std::string& name);
  [[nodiscard]] bool empty() const { return kept_.empty(); }

 private:
  using ByRank = std::map<int, std::vector<std::byte>>;
  std::map<std::string, ByRank> kept_;
};

}  // namespace longship::collective
