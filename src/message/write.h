// SPDX-License-Identifier: Apache-2.0
// JSON written straight into a string: messages are made too often to build a tree of values first.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace longship::message {

void append_text(std::string& out, std::string_view text);  // quoted
void append_integer(std::string& out, std::uint64_t integer);
// What JSON has no number for is a text: "nan", "inf", "-inf". A loss may well be one.
void append_number(std::string& out, double number);

// An object: opened when made, closed when it goes. Keys are ours and need no quoting.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string& out) : out_(out) { out_ += '{'; }
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;
  ~ObjectWriter() { out_ += '}'; }

  void text(std::string_view key, std::string_view text);
  void text_if(std::string_view key,
               std::string_view value) {  // left out when empty, as the reader assumes then
    if (!value.empty()) text(key, value);
  }
  void integer(std::string_view key, std::uint64_t integer);
  void signed_integer(std::string_view key, std::int64_t integer);
  void flag(std::string_view key, bool flag);
  void texts(std::string_view key, std::span<const std::string> texts);

  // Body: void(ObjectWriter&).
  template <class Body>
  void object(std::string_view key, Body&& body) {
    begin(key);
    ObjectWriter inner(out_);
    body(inner);
  }
  // Value: void(std::string&), which writes one value.
  template <class Value>
  void member(std::string_view key, Value&& value) {
    begin(key);
    value(out_);
  }
  // Member: void(std::string&, const Item&), which writes one value.
  template <class List, class Member>
  void list(std::string_view key, const List& list, Member&& member) {
    begin(key);
    append_list(out_, list, member);
  }
  template <class List, class Member>
  static void append_list(std::string& out, const List& list, Member&& member) {
    out += '[';
    bool first = true;
    for (const auto& item : list) {
      if (!first) out += ',';
      first = false;
      member(out, item);
    }
    out += ']';
  }

 private:
  void begin(std::string_view key);

  std::string& out_;
  bool first_ = true;
};

}  // namespace longship::message
