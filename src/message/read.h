// SPDX-License-Identifier: Apache-2.0
// Messages read back from a document. Keys that are not known are a newer peer's and are passed over; what is
// missing or of the wrong kind is an Error that names the key.
#pragma once
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "assignment.h"
#include "formats/fields.h"

namespace longship::message {

inline constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

[[nodiscard]] inline std::uint64_t count(const formats::Fields& fields, std::string_view key) {
  return static_cast<std::uint64_t>(fields.integer(key, {0, largest}, 0));
}

[[nodiscard]] AttemptId attempt(const formats::Fields& fields, std::string_view key = "attempt");
[[nodiscard]] std::vector<AttemptId> attempts(const formats::Fields& fields, std::string_view key);

// A list of tables, each read by `read(Fields)`; empty if the key is not there.
template <class Read>
[[nodiscard]] auto list(const formats::Fields& fields, std::string_view key, Read&& read) {
  std::vector<decltype(read(fields))> items;
  const auto* value = fields.find(key);
  if (value == nullptr) return items;
  if (!value->is(formats::Kind::array)) throw fields.wrong(key, "expected a list, found {}", value->shown());
  items.reserve(value->array().size());
  for (const auto& item : value->array()) items.push_back(read(formats::Fields(item, std::string(key))));
  return items;
}

}  // namespace longship::message
