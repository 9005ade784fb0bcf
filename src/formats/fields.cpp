// SPDX-License-Identifier: Apache-2.0
#include "fields.h"

#include <algorithm>

#include "base/text.h"
#include "units.h"

namespace longship::formats {
namespace {

const Table& table_at(const Value& value, const std::string& path) {
  if (value.is(Kind::table)) return value.table();
  throw Error(Failure::usage, "{}: {}: expected a table, found {}", value.place().text(), path,
              value.shown());
}

}  // namespace

Fields::Fields(const Value& table, std::string path)
    : table_(&table_at(table, path)), place_(table.place()), path_(std::move(path)) {
  if (path_.empty()) place_.line = 0;  // what the whole document lacks is missing in no line
}

Fields::Fields(const Value& table, std::string path, std::initializer_list<std::string_view> known)
    : Fields(table, std::move(path)) {
  const std::vector<std::string> words(known.begin(), known.end());
  for (const auto& entry : *table_)
    if (std::find(words.begin(), words.end(), entry.key) == words.end())
      throw wrong(entry.key, "unknown key{}", suggestion(entry.key, words));
}

std::string Fields::path_of(std::string_view key) const {
  return path_.empty() ? printable(key) : path_ + "." + printable(key);
}

Error Fields::wrong_at(std::string_view key, const std::string& what) const {
  const auto* entry = table_->entry(key);
  const auto& place = entry == nullptr ? place_ : entry->place;
  return Error(Failure::usage, "{}: {}: {}", place.text(), path_of(key), what);
}

Error Fields::missing(std::string_view key) const {
  return wrong(key, "missing");
}

const Value& Fields::required(std::string_view key) const {
  const auto* value = find(key);
  if (value == nullptr) throw missing(key);
  return *value;
}

const Value* Fields::of_kind(std::string_view key, Kind kind) const {
  const auto* value = find(key);
  if (value == nullptr || value->is(kind)) return value;
  throw wrong(key, "expected {}, found {}", name_of(kind), value->shown());
}

std::string Fields::text(std::string_view key) const {
  if (const auto* value = of_kind(key, Kind::text)) return value->text();
  throw missing(key);
}

std::string Fields::text(std::string_view key, std::string_view fallback) const {
  return has(key) ? text(key) : std::string(fallback);
}

std::int64_t Fields::integer(std::string_view key, Range range) const {
  const auto* value = of_kind(key, Kind::integer);
  if (value == nullptr) throw missing(key);
  const auto integer = value->integer();
  if (integer >= range.least && integer <= range.most) return integer;
  throw wrong(key, "expected an integer from {} to {}, found {}", range.least, range.most, integer);
}

std::int64_t Fields::integer(std::string_view key, Range range, std::int64_t fallback) const {
  return has(key) ? integer(key, range) : fallback;
}

double Fields::number(std::string_view key) const {
  const auto& value = required(key);
  if (value.is(Kind::integer) || value.is(Kind::number)) return value.number();
  throw wrong(key, "expected a number, found {}", value.shown());
}

double Fields::number(std::string_view key, double fallback) const {
  return has(key) ? number(key) : fallback;
}

bool Fields::flag(std::string_view key, bool fallback) const {
  const auto* value = of_kind(key, Kind::flag);
  return value == nullptr ? fallback : value->flag();
}

std::vector<std::string> Fields::words(std::string_view key) const {
  std::vector<std::string> words;
  const auto* value = of_kind(key, Kind::array);
  if (value == nullptr) return words;
  for (const auto& word : value->array()) {
    if (!word.is(Kind::text))
      throw wrong(key, "expected a list of texts, but entry {} is {}", words.size() + 1, word.shown());
    words.push_back(word.text());
  }
  return words;
}

std::optional<std::uint64_t> Fields::bytes(std::string_view key, UnitRange range) const {
  const auto* value = find(key);
  if (value == nullptr) return {};
  if (!value->is(Kind::text) && !value->is(Kind::integer))
    throw wrong(key, "expected a size such as \"90GiB\", found {}", value->shown());
  try {
    const auto bytes = parse_bytes(value->is(Kind::text) ? value->text() : std::to_string(value->integer()));
    if (bytes >= parse_bytes(range.least) && bytes <= parse_bytes(range.most)) return bytes;
  } catch (const Error& error) {
    throw wrong(key, "{}", error.what());
  }
  throw wrong(key, "expected a size from {} to {}, found {}", range.least, range.most, value->shown());
}

std::optional<std::chrono::seconds> Fields::duration(std::string_view key, UnitRange range) const {
  const auto* value = find(key);
  if (value == nullptr) return {};
  if (!value->is(Kind::text)) throw wrong(key, "expected a time such as \"2h\", found {}", value->shown());
  try {
    const auto duration = parse_duration(value->text());
    if (duration >= parse_duration(range.least) && duration <= parse_duration(range.most)) return duration;
  } catch (const Error& error) {
    throw wrong(key, "{}", error.what());
  }
  throw wrong(key, "expected a time from {} to {}, found {}", range.least, range.most, value->shown());
}

std::optional<std::size_t> Fields::choose(std::string_view key, std::span<const std::string> names) const {
  const auto* value = of_kind(key, Kind::text);
  if (value == nullptr) return {};
  const auto found = std::find(names.begin(), names.end(), value->text());
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  throw wrong(key, "expected one of {}, found {}{}", join(names, ", "), value->shown(),
              suggestion(value->text(), names));
}

std::optional<Fields> Fields::table(std::string_view key,
                                    std::initializer_list<std::string_view> known) const {
  const auto* value = of_kind(key, Kind::table);
  if (value == nullptr) return {};
  return Fields(*value, path_of(key), known);
}

std::vector<Fields> Fields::tables(std::string_view key,
                                   std::initializer_list<std::string_view> known) const {
  std::vector<Fields> tables;
  const auto* value = find(key);
  if (value == nullptr) return tables;
  if (!value->is(Kind::array))
    throw wrong(key, "expected a list of tables, each under [[{}]], found {}", path_of(key), value->shown());
  for (const auto& element : value->array())
    tables.emplace_back(element, fmt::format("{}[{}]", path_of(key), tables.size() + 1), known);
  return tables;
}

}  // namespace longship::formats
