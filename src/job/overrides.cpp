// SPDX-License-Identifier: Apache-2.0
#include "overrides.h"

#include <memory>
#include <optional>

#include "base/error.h"
#include "base/text.h"

namespace longship::job {
namespace {

using formats::Kind;
using formats::Place;
using formats::Table;
using formats::Value;

// Everything in the value stands where the option does.
Value placed(const Value& value, const Place& place) {
  Value result = value;
  if (value.is(Kind::table)) {
    Table table;
    for (const auto& entry : value.table()) table.set(entry.key, placed(entry.value, place), place);
    result = std::move(table);
  } else if (value.is(Kind::array)) {
    formats::Array array;
    for (const auto& element : value.array()) array.push_back(placed(element, place));
    result = std::move(array);
  }
  result.set_place(place);
  return result;
}

std::optional<Value> as_toml(const std::string& text) {
  try {
    const auto document = formats::parse_toml("value = " + text, "");
    // A line break in the text could have smuggled in another key.
    if (document.table().size() == 1) return *document.find("value");
  } catch (const Error&) {
  }
  return {};
}

void apply(Value& document, const std::string& override) {
  const Place place{std::make_shared<const std::string>("--set " + printable(override))};
  const auto equals = override.find('=');
  if (equals == std::string::npos || equals == 0)
    throw Error(Failure::usage, "{}: expected KEY=VALUE, such as needs.nodes=16", place.text());
  const auto keys = split(trim(std::string_view(override).substr(0, equals)), '.');
  const auto text = override.substr(equals + 1);

  Value* target = &document;
  for (std::size_t i = 0; i + 1 < keys.size(); ++i) {
    auto& table = target->table();
    auto* next = table.find(keys[i]);
    if (next == nullptr) next = &table.set(std::string(keys[i]), placed(Table(), place), place);
    if (!next->is(Kind::table))
      throw Error(Failure::usage, "{}: {} is {}, no key can be set in it", place.text(), printable(keys[i]),
                  formats::name_of(next->kind()));
    target = next;
  }
  target->table().set(std::string(keys.back()), placed(as_toml(text).value_or(Value(text)), place), place);
}

}  // namespace

void apply_overrides(Value& document, std::span<const std::string> overrides) {
  for (const auto& override : overrides) apply(document, override);
}

}  // namespace longship::job
