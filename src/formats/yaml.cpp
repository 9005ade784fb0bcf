// SPDX-License-Identifier: Apache-2.0
#include "yaml.h"

#include <yaml.h>

#include <charconv>
#include <new>
#include <optional>

#include "base/error.h"
#include "base/text.h"

namespace longship::formats {
namespace {

// Owns libyaml's parser and the event that it stands at.
class Events {
 public:
  Events(std::string_view text, std::string_view origin)
      : origin_(std::make_shared<const std::string>(origin)) {
    if (yaml_parser_initialize(&parser_) == 0) throw std::bad_alloc();
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ~Events() {
    yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }

  [[nodiscard]] const yaml_event_t& now() const { return event_; }
  [[nodiscard]] Place place() const { return place_of(event_.start_mark); }

  void next() {
    yaml_event_delete(&event_);
    event_ = {};
    if (yaml_parser_parse(&parser_, &event_) != 0) return;
    const auto* problem = parser_.problem;
    throw Error("{}:{}: {}", place_of(parser_.problem_mark).text(), parser_.problem_mark.column + 1,
                printable(problem != nullptr ? problem : "not YAML"));
  }

 private:
  [[nodiscard]] Place place_of(const yaml_mark_t& mark) const {
    return {origin_, static_cast<int>(mark.line) + 1, static_cast<int>(mark.column) + 1};
  }

  std::shared_ptr<const std::string> origin_;
  yaml_parser_t parser_{};
  yaml_event_t event_{};
};

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

Value scalar(const yaml_event_t& event) {
  const auto& data = event.data.scalar;
  const std::string_view text(reinterpret_cast<const char*>(data.value), data.length);
  if (data.style != YAML_PLAIN_SCALAR_STYLE) return text;
  if (text.empty() || text == "~" || text == "null") return {};
  if (text == "true" || text == "false") return text == "true";
  if (text.find_first_not_of("+-.0123456789eE") != std::string_view::npos) return text;
  if (const auto integer = number_in<std::int64_t>(text)) return *integer;
  if (const auto number = number_in<double>(text)) return *number;
  return text;
}

Value node(Events& events, int depth);

Value sequence(Events& events, int depth) {
  Array list;
  for (events.next(); events.now().type != YAML_SEQUENCE_END_EVENT;) list.push_back(node(events, depth));
  events.next();
  return list;
}

Value mapping(Events& events, int depth) {
  Table table;
  for (events.next(); events.now().type != YAML_MAPPING_END_EVENT;) {
    const auto place = events.place();
    if (events.now().type != YAML_SCALAR_EVENT) throw Error("{}: a key that is no word", place.text());
    const auto& data = events.now().data.scalar;
    std::string key(reinterpret_cast<const char*>(data.value), data.length);
    events.next();
    auto value = node(events, depth);
    if (!table.add(key, std::move(value), place))
      throw Error("{}: {}: the key is there twice", place.text(), printable(key));
  }
  events.next();
  return table;
}

Value node(Events& events, int depth) {
  const auto place = events.place();
  if (depth <= 0) throw Error("{}: too deep", place.text());
  Value value;
  switch (events.now().type) {
    case YAML_SCALAR_EVENT:
      value = scalar(events.now());
      events.next();
      break;
    case YAML_SEQUENCE_START_EVENT:
      value = sequence(events, depth - 1);
      break;
    case YAML_MAPPING_START_EVENT:
      value = mapping(events, depth - 1);
      break;
    default:
      throw Error("{}: anchors and aliases are not read", place.text());
  }
  value.set_place(place);
  return value;
}

}  // namespace

Value parse_yaml(std::string_view text, std::string_view origin, const Limits& limits) {
  if (text.size() > limits.bytes) throw Error("{}: more than {} bytes", printable(origin), limits.bytes);
  Events events(text, printable(origin));
  events.next();  // not before it is made: its parser would not be given back
  if (events.now().type == YAML_STREAM_START_EVENT) events.next();
  if (events.now().type != YAML_DOCUMENT_START_EVENT) throw Error("{}: nothing in it", printable(origin));
  events.next();
  auto value = node(events, limits.depth);
  if (events.now().type == YAML_DOCUMENT_END_EVENT) events.next();
  if (events.now().type != YAML_STREAM_END_EVENT)
    throw Error("{}: more than one document", events.place().text());
  return value;
}

}  // namespace longship::formats
