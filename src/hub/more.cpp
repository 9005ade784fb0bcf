// SPDX-License-Identifier: Apache-2.0
#include "more.h"

#include <cmath>

#include "base/record_log.h"
#include "formats/document.h"

namespace longship::hub {

using formats::Array;
using formats::Table;
using formats::Value;

std::string more_of(const Attempt& attempt) {
  if (!attempt.outputs && !attempt.last) return {};
  Table table;
  if (attempt.outputs) {
    Array outputs;
    for (const auto& output : *attempt.outputs) outputs.emplace_back(Array{output.name, output.size});
    table.set("outputs", std::move(outputs));
  }
  if (attempt.last) {
    Table values;
    for (const auto& [name, value] : attempt.last->values)
      if (std::isfinite(value)) values.set(name, value);
    table.set("step", attempt.last->step);
    table.set("steps", attempt.last->steps);
    table.set("values", std::move(values));
  }
  return formats::dump_json(table);
}

void read_more(Attempt& attempt, std::string_view text) {
  if (text.empty()) return;
  const auto value = formats::parse_json(text, "attempt");
  if (const auto* outputs = value.find("outputs")) {
    auto list = std::make_shared<std::vector<message::Output>>();
    for (const auto& one : outputs->array())
      list->push_back({one.array().at(0).text(), static_cast<std::uint64_t>(one.array().at(1).integer())});
    attempt.outputs = std::move(list);
  }
  if (const auto* step = value.find("step")) {
    auto last = std::make_shared<message::Metrics>();
    last->step = static_cast<std::uint64_t>(step->integer());
    last->steps = static_cast<std::uint64_t>(value.find("steps")->integer());
    for (const auto& entry : value.find("values")->table())
      last->values.emplace_back(entry.key, entry.value.number());
    attempt.last = std::move(last);
  }
}

std::uint64_t version_of(std::string_view site_file) {
  return crc32c(site_file);
}

}  // namespace longship::hub
