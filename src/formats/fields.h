// SPDX-License-Identifier: Apache-2.0
// Reading a table that a person wrote: each key by name, with its type and range checked. What is wrong is an
// Error with file, line, key, what was expected and what was found, and the nearest known word:
//   job.toml:12: needs.nodse: unknown key: did you mean "nodes"?
//   job.toml:9: needs.nodes: expected an integer from 1 to 100000, found 0
#pragma once
#include <fmt/core.h>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "document.h"

namespace longship::formats {

struct Range {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

// Allowed sizes and times, as a person would write them: {"1MiB", "1PiB"}, {"1s", "365d"}.
struct UnitRange {
  std::string_view least, most;
};

template <class Enum>
using Choices = std::initializer_list<std::pair<std::string_view, Enum>>;

class Fields {
 public:
  // `path` is the table's own name, "" for the document. A key that is not in `known` is an Error at once: a
  // typo in a key explains better than "missing" what is wrong. The value must outlive this.
  Fields(const Value& table, std::string path, std::initializer_list<std::string_view> known);
  // Other keys are nobody's mistake: for what other programs wrote.
  Fields(const Value& table, std::string path);

  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }

  // Required, if no fallback is given.
  [[nodiscard]] std::string text(std::string_view key) const;
  [[nodiscard]] std::string text(std::string_view key, std::string_view fallback) const;
  [[nodiscard]] std::int64_t integer(std::string_view key, Range range = {}) const;
  [[nodiscard]] std::int64_t integer(std::string_view key, Range range, std::int64_t fallback) const;
  [[nodiscard]] double number(std::string_view key) const;
  [[nodiscard]] double number(std::string_view key, double fallback) const;
  [[nodiscard]] bool flag(std::string_view key, bool fallback) const;
  [[nodiscard]] std::vector<std::string> words(
      std::string_view key) const;  // a list of texts, empty if absent
  [[nodiscard]] std::optional<std::uint64_t> bytes(std::string_view key, UnitRange range) const;
  [[nodiscard]] std::optional<std::chrono::seconds> duration(std::string_view key, UnitRange range) const;

  template <class Enum>
  [[nodiscard]] Enum choice(std::string_view key, Choices<Enum> choices, Enum fallback) const {
    std::vector<std::string> names;
    for (const auto& [name, meaning] : choices) names.emplace_back(name);
    const auto chosen = choose(key, names);
    return chosen ? (choices.begin() + *chosen)->second : fallback;
  }

  // A table in the table, and a list of tables; their keys' errors are called "needs.nodes", "data[2].at".
  [[nodiscard]] std::optional<Fields> table(std::string_view key,
                                            std::initializer_list<std::string_view> known) const;
  [[nodiscard]] std::vector<Fields> tables(std::string_view key,
                                           std::initializer_list<std::string_view> known) const;

  [[nodiscard]] const Value* find(std::string_view key) const { return table_->find(key); }
  const Value& required(std::string_view key) const;  // an Error if it is missing
  [[nodiscard]] const Table& entries() const { return *table_; }

  // For checks of one's own: throw fields.wrong("code", "{} is not a directory", path).
  template <class... Args>
  [[nodiscard]] Error wrong(std::string_view key, fmt::format_string<Args...> format, Args&&... args) const {
    return wrong_at(key, fmt::vformat(format, fmt::make_format_args(args...)));
  }

 private:
  const Value* of_kind(std::string_view key, Kind kind) const;  // null if absent
  std::optional<std::size_t> choose(std::string_view key, std::span<const std::string> names) const;
  std::string path_of(std::string_view key) const;
  Error wrong_at(std::string_view key, const std::string& what) const;
  Error missing(std::string_view key) const;

  const Table* table_;
  Place place_;  // for what is missing
  std::string path_;
};

}  // namespace longship::formats
