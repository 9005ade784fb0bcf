// SPDX-License-Identifier: Apache-2.0
// TOML by toml++, turned into our values; its header is included nowhere else.
//
// The parser takes for granted, by asserts, what some files do not keep to ("[:" is enough): without asserts
// it would go on regardless, with them it would end the program. Thrown, they are just another syntax error.
#undef NDEBUG
namespace longship::formats {
struct ParserConfused {};
[[noreturn]] static void confuse_parser() {
  throw ParserConfused();
}
}  // namespace longship::formats
#define TOML_ASSERT(expression) \
  (static_cast<bool>(expression) ? static_cast<void>(0) : longship::formats::confuse_parser())
// TOML 1.0. Keys of other letters, which may come after it, reach what the library calls unreachable.
#define TOML_ENABLE_UNRELEASED_FEATURES 0
#include <toml++/toml.h>

#include <algorithm>

#include "base/error.h"
#include "document.h"

namespace longship::formats {
namespace {

Error wrong_at(const Place& place, std::string_view what) {
  return Error(Failure::usage, "{}:{}: {}", place.text(), place.column, what);
}

// toml++ limits the depth of values but not of dotted keys, and then recurses into what "a.a.a.…" made: half
// a megabyte of that overflows the stack in its destructor. So dots are counted before it sees them.
class DotCounter {
 public:
  DotCounter(std::string_view text, int limit) : text_(text), limit_(limit) {}

  // The line of the first key with too many parts, or 0.
  int find() {
    while (at_ < text_.size()) {
      if (!skip_comment() && !skip_text()) count(text_[at_++]);
      if (dots_ > limit_) return line_;
    }
    return 0;
  }

 private:
  void count(char c) {
    if (c == '\n') ++line_;
    if (c == '.')
      ++dots_;
    else if (std::string_view("=,[]{}\n").find(c) != std::string_view::npos)
      dots_ = 0;
  }

  bool skip_comment() {
    if (text_[at_] != '#') return false;
    at_ = std::min(text_.find('\n', at_), text_.size());
    return true;
  }

  bool skip_text() {
    const char quote = text_[at_];
    if (quote != '"' && quote != '\'') return false;
    const std::string three(3, quote);
    const bool many_lines = text_.substr(at_).starts_with(three);
    const auto closing = many_lines ? std::string_view(three) : std::string_view(three).substr(0, 1);
    at_ += closing.size();
    while (at_ < text_.size() && !text_.substr(at_).starts_with(closing)) {
      if (text_[at_] == '\n' && !many_lines) return true;  // not closed: the parser will say so
      if (text_[at_] == '\n') ++line_;
      at_ += quote == '"' && text_[at_] == '\\' ? 2 : 1;
    }
    at_ = std::min(at_ + closing.size(), text_.size());
    return true;
  }

  std::string_view text_;
  int limit_;
  std::size_t at_ = 0;
  int line_ = 1, dots_ = 0;
};

class Converter {
 public:
  Converter(std::shared_ptr<const std::string> origin, int depth)
      : origin_(std::move(origin)), depth_left_(depth) {}

  Value convert(const toml::node& node) {
    const auto place = place_of(node.source());
    auto value = content(node, place);
    value.set_place(place);
    return value;
  }

 private:
  Value content(const toml::node& node, const Place& place) {
    switch (node.type()) {
      case toml::node_type::table:
        return nested(place, [&] { return Value(convert_table(*node.as_table())); });
      case toml::node_type::array:
        return nested(place, [&] { return Value(convert_array(*node.as_array())); });
      case toml::node_type::string:
        return Value(std::string(node.as_string()->get()));
      case toml::node_type::integer:
        return Value(node.as_integer()->get());
      case toml::node_type::floating_point:
        return Value(node.as_floating_point()->get());
      case toml::node_type::boolean:
        return Value(node.as_boolean()->get());
      default:
        throw wrong_at(place, "a date or time is of no use here: put it in quotes if it is meant as text");
    }
  }

  template <class Work>
  Value nested(const Place& place, Work&& work) {
    if (--depth_left_ < 0) throw wrong_at(place, "nested too deeply");
    auto value = work();
    ++depth_left_;
    return value;
  }

  Table convert_table(const toml::table& source) {
    struct Found {
      Place place;
      const toml::key* key;
      const toml::node* node;
    };
    std::vector<Found> found;
    for (auto&& [key, node] : source) found.push_back({place_of(key.source()), &key, &node});
    // toml++ sorts by name; people expect the order in which they wrote.
    std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
      return std::tie(a.place.line, a.place.column) < std::tie(b.place.line, b.place.column);
    });
    Table table;
    for (const auto& [place, key, node] : found) table.set(std::string(key->str()), convert(*node), place);
    return table;
  }

  Array convert_array(const toml::array& source) {
    Array array;
    for (const auto& node : source) array.push_back(convert(node));
    return array;
  }

  Place place_of(const toml::source_region& region) const {
    return {origin_, static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
  }

  std::shared_ptr<const std::string> origin_;
  int depth_left_;
};

}  // namespace

Value parse_toml(std::string_view text, std::string_view origin, const Limits& limits) {
  if (text.size() > limits.bytes)
    throw Error(Failure::usage, "{}: {} bytes, more than the {} that are allowed here", origin, text.size(),
                limits.bytes);
  const auto shared_origin = std::make_shared<const std::string>(origin);
  if (const int line = DotCounter(text, limits.depth).find(); line > 0)
    throw wrong_at({shared_origin, line, 1}, "a key with too many dots");
  try {
    return Converter(shared_origin, limits.depth + 1).convert(toml::parse(text));
  } catch (const toml::parse_error& error) {
    const auto& begin = error.source().begin;
    throw wrong_at({shared_origin, static_cast<int>(begin.line), static_cast<int>(begin.column)},
                   error.description());
  } catch (const ParserConfused&) {
    throw Error(Failure::usage, "{}: this is not TOML", origin);
  }
}

}  // namespace longship::formats
