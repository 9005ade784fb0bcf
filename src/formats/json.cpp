// SPDX-License-Identifier: Apache-2.0
// JSON by hand, as no library tells where a value stood: RFC 8259 by recursive descent, the depth limited.
#include <fmt/core.h>

#include <charconv>

#include "base/error.h"
#include "base/text.h"
#include "document.h"
#include "utf8.h"

namespace longship::formats {
namespace {

class JsonParser {
 public:
  JsonParser(std::string_view text, std::string_view origin, int depth)
      : text_(text), origin_(std::make_shared<const std::string>(origin)), depth_left_(depth) {}

  Value document() {
    skip_blanks();
    auto value = parse_value();
    skip_blanks();
    if (at_ < text_.size()) throw wrong("something follows after the end of the document");
    return value;
  }

 private:
  Value parse_value() {
    const auto place = here();
    auto value = parse_content();
    value.set_place(place);
    return value;
  }

  Value parse_content() {
    switch (peek()) {
      case '{':
        return parse_table();
      case '[':
        return parse_array();
      case '"':
        return parse_text();
      case 't':
        return literal("true"), Value(true);
      case 'f':
        return literal("false"), Value(false);
      case 'n':
        return literal("null"), Value();
      default:
        return parse_number();
    }
  }

  Value parse_table() {
    Table table;
    each_member('}', [&] {
      const auto place = here();
      if (peek() != '"') throw wrong("expected a key in double quotes");
      auto key = parse_text();
      skip_blanks();
      if (!take(':')) throw wrong("expected a colon after the key");
      skip_blanks();
      auto value = parse_value();
      if (!table.add(key, std::move(value), place))
        throw Error(Failure::usage, "{}:{}: the key \"{}\" is here a second time", place.text(), place.column,
                    printable(key));
    });
    return table;
  }

  Value parse_array() {
    Array array;
    each_member(']', [&] { array.push_back(parse_value()); });
    return array;
  }

  // The members between the brackets, with the commas and blanks around them.
  template <class Member>
  void each_member(char closing, Member&& member) {
    if (--depth_left_ < 0) throw wrong("nested too deeply");
    ++at_;
    skip_blanks();
    if (!take(closing)) {
      for (;;) {
        member();
        skip_blanks();
        if (take(closing)) break;
        if (!take(',')) throw wrong(fmt::format("expected a comma or {}", closing));
        skip_blanks();
      }
    }
    ++depth_left_;
  }

  std::string parse_text() {
    ++at_;
    std::string result;
    for (;;) {
      auto plain_end = at_;
      while (plain_end < text_.size() && is_plain(text_[plain_end])) ++plain_end;
      append_utf8(result, text_.substr(at_, plain_end - at_));
      at_ = plain_end;
      if (at_ == text_.size()) throw wrong("the text has no closing quote");
      if (take('"')) return result;
      if (text_[at_] != '\\') throw wrong("a control character in a text must be written as \\u00XX");
      ++at_;
      append_escape(result);
    }
  }

  void append_utf8(std::string& result, std::string_view part) {
    if (const auto bad = invalid_utf8(part)) {
      at_ += *bad;
      throw wrong("bytes that are not UTF-8");
    }
    result += part;
  }

  void append_escape(std::string& result) {
    constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    if (take('u')) return append_unicode(result);
    const auto found = at_ < text_.size() ? letters.find(text_[at_]) : std::string_view::npos;
    if (found == std::string_view::npos) throw wrong("unknown escape after the backslash");
    result += meanings[found];
    ++at_;
  }

  void append_unicode(std::string& result) {
    std::uint32_t code = parse_hex4();
    if (code >= 0xd800 && code < 0xdc00) {  // the first of a pair
      if (!text_.substr(at_).starts_with("\\u")) throw wrong("half of a surrogate pair");
      at_ += 2;
      const std::uint32_t low = parse_hex4();
      if (low < 0xdc00 || low > 0xdfff) throw wrong("half of a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code <= 0xdfff) {
      throw wrong("half of a surrogate pair");
    }
    append_code_point(result, code);
  }

  std::uint32_t parse_hex4() {
    const auto digits = text_.substr(at_, 4);
    std::uint32_t code = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (error != std::errc() || end != digits.data() + 4)
      throw wrong("expected four hexadecimal digits after \\u");
    at_ += 4;
    return code;
  }

  Value parse_number() {
    const auto start = at_;
    take('-');
    if (!take('0') && !take_digits()) throw(at_ = start, wrong("expected a value"));
    bool whole = true;
    if (take('.')) {
      whole = false;
      if (!take_digits()) throw wrong("expected a digit after the decimal point");
    }
    if (take('e') || take('E')) {
      whole = false;
      if (!take('+')) take('-');
      if (!take_digits()) throw wrong("expected a digit in the exponent");
    }
    return number(text_.substr(start, at_ - start), whole);
  }

  Value number(std::string_view digits, bool whole) {
    const auto* end = digits.data() + digits.size();
    if (std::int64_t integer = 0; whole && std::from_chars(digits.data(), end, integer).ec == std::errc())
      return integer;
    double real = 0;
    if (std::from_chars(digits.data(), end, real).ec != std::errc())
      throw wrong("the number is too large or too small for a double");
    return real;
  }

  void literal(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) throw wrong("expected a value");
    at_ += word.size();
  }

  bool take_digits() {
    const auto start = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
    return at_ > start;
  }

  bool take(char wanted) {
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  char peek() {
    if (at_ >= text_.size()) throw wrong("the document ends too early");
    return text_[at_];
  }

  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }

  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  // Stands for itself within a text.
  static bool is_plain(char c) { return c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20; }

  // Lines are counted up to where we are and never twice: a text holds no line break, so all are between
  // tokens.
  Place here() {
    for (; counted_ < at_; ++counted_) {
      if (text_[counted_] != '\n') continue;
      ++line_;
      line_start_ = counted_ + 1;
    }
    return {origin_, line_, static_cast<int>(at_ - line_start_) + 1};
  }

  Error wrong(std::string_view what) {
    const auto place = here();
    return Error(Failure::usage, "{}:{}: {}", place.text(), place.column, what);
  }

  std::string_view text_;
  std::shared_ptr<const std::string> origin_;
  int depth_left_;
  std::size_t at_ = 0;
  std::size_t counted_ = 0, line_start_ = 0;
  int line_ = 1;
};

}  // namespace

Value parse_json(std::string_view text, std::string_view origin, const Limits& limits) {
  if (text.size() > limits.bytes)
    throw Error(Failure::usage, "{}: {} bytes, more than the {} that are allowed here", origin, text.size(),
                limits.bytes);
  return JsonParser(text, origin, limits.depth).document();
}

}  // namespace longship::formats
