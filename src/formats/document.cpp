// SPDX-License-Identifier: Apache-2.0
#include "document.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace longship::formats {

std::string Place::text() const {
  const std::string_view name = origin ? std::string_view(*origin) : "?";
  return line > 0 ? fmt::format("{}:{}", name, line) : std::string(name);
}

Table::Table() = default;
Table::Table(const Table&) = default;
Table::Table(Table&&) noexcept = default;
Table& Table::operator=(const Table&) = default;
Table& Table::operator=(Table&&) noexcept = default;
Table::~Table() = default;

// Most tables are small, and are searched faster than an index of them is made.
constexpr std::size_t small = 16;

std::size_t Table::place_of(std::string_view key) const {
  if (!index_.empty()) {
    const auto found = index_.find(key);
    return found == index_.end() ? entries_.size() : found->second;
  }
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.key == key; });
  return static_cast<std::size_t>(found - entries_.begin());
}

void Table::append(Entry entry) {
  entries_.push_back(std::move(entry));
  if (entries_.size() <= small) return;
  for (auto at = index_.size(); at < entries_.size(); ++at) index_.emplace(entries_[at].key, at);
}

const Entry* Table::entry(std::string_view key) const {
  const auto at = place_of(key);
  return at == entries_.size() ? nullptr : &entries_[at];
}

const Value* Table::find(std::string_view key) const {
  const auto* found = entry(key);
  return found == nullptr ? nullptr : &found->value;
}

Value* Table::find(std::string_view key) {
  return const_cast<Value*>(std::as_const(*this).find(key));
}

bool Table::add(std::string key, Value value, Place place) {
  if (place_of(key) != entries_.size()) return false;
  append({std::move(key), std::move(value), std::move(place)});
  return true;
}

Value& Table::set(std::string key, Value value, Place place) {
  const auto at = place_of(key);
  if (at == entries_.size())
    append({std::move(key), std::move(value), std::move(place)});
  else
    entries_[at] = {std::move(key), std::move(value), std::move(place)};
  return entries_[at].value;
}

std::vector<std::string> Table::keys() const {
  std::vector<std::string> keys;
  for (const auto& entry : entries_) keys.push_back(entry.key);
  return keys;
}

std::size_t Table::size() const {
  return entries_.size();
}

const Entry* Table::begin() const {
  return entries_.data();
}

const Entry* Table::end() const {
  return entries_.data() + entries_.size();
}

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::null:
      return "null";
    case Kind::flag:
      return "true or false";
    case Kind::integer:
      return "an integer";
    case Kind::number:
      return "a number";
    case Kind::text:
      return "text in quotes";
    case Kind::array:
      return "a list";
    case Kind::table:
      return "a table";
  }
  return "";
}

void Value::too_large() {
  throw Error("a number is too large for a document");
}

template <class Content>
const Content& Value::get(Kind wanted) const {
  if (const auto* content = std::get_if<Content>(&content_)) return *content;
  throw Error(Failure::usage, "{}: expected {}, found {}", place_.text(), name_of(wanted), shown());
}

bool Value::flag() const {
  return get<bool>(Kind::flag);
}

std::int64_t Value::integer() const {
  return get<std::int64_t>(Kind::integer);
}

double Value::number() const {
  if (is(Kind::integer)) return static_cast<double>(integer());
  return get<double>(Kind::number);
}

const std::string& Value::text() const {
  return get<std::string>(Kind::text);
}

const Array& Value::array() const {
  return get<Array>(Kind::array);
}

const Table& Value::table() const {
  return get<Table>(Kind::table);
}

Table& Value::table() {
  return const_cast<Table&>(std::as_const(*this).table());
}

const Value* Value::find(std::string_view key) const {
  const auto* table = std::get_if<Table>(&content_);
  return table == nullptr ? nullptr : table->find(key);
}

std::string Value::shown() const {
  constexpr std::size_t most = 60;  // a message is a line, whatever was in the file
  switch (kind()) {
    case Kind::flag:
      return flag() ? "true" : "false";
    case Kind::integer:
      return fmt::format("{}", integer());
    case Kind::number:
      return fmt::format("{}", number());
    case Kind::text: {
      const auto whole = printable(text());
      return whole.size() <= most ? fmt::format("\"{}\"", whole)
                                  : fmt::format("\"{}…\"", printable(text().substr(0, most)));
    }
    default:
      return std::string(name_of(kind()));
  }
}

}  // namespace longship::formats
