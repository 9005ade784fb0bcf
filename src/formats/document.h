// SPDX-License-Identifier: Apache-2.0
// A TOML or JSON document as a tree of values, each of which knows the line it came from, so that whoever
// finds a value wrong can name its place. Also built by hand, to be written as JSON. The parsers' own headers
// stay in .cpp files.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace longship::formats {

// Where something stands: "job.toml:12". Line 0: no lines there (an option, a value made by us), the origin
// alone.
struct Place {
  std::shared_ptr<const std::string> origin;
  int line = 0;
  int column = 0;
  [[nodiscard]] std::string text() const;
};

class Value;
struct Entry;
using Array = std::vector<Value>;

// Keys and values in the order of the document; a key is there once.
class Table {
 public:
  // Out of line, as an Entry is not complete here: GCC does not mind, clang, which builds the fuzzers, does.
  Table();
  Table(const Table&);
  Table(Table&&) noexcept;
  Table& operator=(const Table&);
  Table& operator=(Table&&) noexcept;
  ~Table();

  [[nodiscard]] const Value* find(std::string_view key) const;  // null: no such key
  [[nodiscard]] const Entry* entry(std::string_view key) const;
  [[nodiscard]] Value* find(std::string_view key);
  Value& set(std::string key, Value value, Place place = {});  // replaces what was there
  bool add(std::string key, Value value, Place place);         // false, and nothing done, if it is there
  [[nodiscard]] std::vector<std::string> keys() const;
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] const Entry* begin() const;
  [[nodiscard]] const Entry* end() const;

 private:
  [[nodiscard]] std::size_t place_of(std::string_view key) const;  // size(): it is not there
  void append(Entry entry);

  std::vector<Entry> entries_;
  std::map<std::string, std::size_t, std::less<>> index_;  // of a large table only
};

enum class Kind { null, flag, integer, number, text, array, table };
[[nodiscard]] std::string_view name_of(Kind kind);  // "a number", "a list": for messages

class Value {
 public:
  Value() = default;
  Value(bool flag) : content_(flag) {}
  Value(double number) : content_(number) {}
  template <std::integral Integer>
  Value(Integer integer) : content_(checked(std::in_range<std::int64_t>(integer), integer)) {}
  Value(std::string text) : content_(std::move(text)) {}
  Value(std::string_view text) : content_(std::string(text)) {}
  Value(const char* text) : content_(std::string(text)) {}
  Value(Array array) : content_(std::move(array)) {}
  Value(Table table) : content_(std::move(table)) {}

  [[nodiscard]] Kind kind() const { return static_cast<Kind>(content_.index()); }
  [[nodiscard]] bool is(Kind wanted) const { return kind() == wanted; }

  // The content; an Error that names the place if it is of another kind.
  [[nodiscard]] bool flag() const;
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] double number() const;  // an integer will do
  [[nodiscard]] const std::string& text() const;
  [[nodiscard]] const Array& array() const;
  [[nodiscard]] const Table& table() const;
  [[nodiscard]] Table& table();

  // Of a table: the value at a key, or null if there is none or this is no table.
  [[nodiscard]] const Value* find(std::string_view key) const;

  [[nodiscard]] std::string shown() const;  // for messages: 3, "text", a list

  [[nodiscard]] const Place& place() const { return place_; }
  void set_place(Place place) { place_ = std::move(place); }

 private:
  static std::int64_t checked(bool fits, auto integer) {
    if (!fits) too_large();
    return static_cast<std::int64_t>(integer);
  }
  [[noreturn]] static void too_large();
  template <class Content>
  const Content& get(Kind wanted) const;

  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Table>
      content_;  // in Kind's order
  Place place_;
};

struct Entry {
  std::string key;
  Value value;
  Place place;  // of the key
};

// What a document may cost: whoever wrote it is not trusted.
struct Limits {
  std::size_t bytes = std::size_t{16} << 20;
  int depth = 64;
};

// Syntax errors name line and column: 'job.toml:3:9: …'. The result is a table.
[[nodiscard]] Value parse_toml(std::string_view text, std::string_view origin, const Limits& limits = {});
// RFC 8259, strictly; a key that is there twice is an error, and so is a number that a double cannot hold.
[[nodiscard]] Value parse_json(std::string_view text, std::string_view origin, const Limits& limits = {});

enum class Layout { compact, pretty };
// Keys in the table's order; numbers so that they read back the same. Text that is not UTF-8 gets U+FFFD, as
// JSON cannot hold it; infinities and NaN are an Error.
[[nodiscard]] std::string dump_json(const Value& value, Layout layout = Layout::compact);
// A text as JSON writes it, with its quotes.
[[nodiscard]] std::string json_text(std::string_view text);

}  // namespace longship::formats
