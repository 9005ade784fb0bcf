// SPDX-License-Identifier: Apache-2.0
#include "space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace longship::sweep {

using formats::Kind;
using formats::Table;
using formats::Value;

const Parameter* Space::find(std::string_view name) const {
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const Parameter& parameter) { return parameter.name == name; });
  return found == parameters.end() ? nullptr : &*found;
}

std::vector<std::string> Space::names() const {
  auto all = fixed.keys();
  for (const auto& parameter : parameters) all.push_back(parameter.name);
  return all;
}

bool same(const Value& one, const Value& other) {
  const auto is_number = [](const Value& value) { return value.is(Kind::integer) || value.is(Kind::number); };
  if (is_number(one) && is_number(other)) return one.number() == other.number();
  if (one.kind() != other.kind()) return false;
  if (one.is(Kind::text)) return one.text() == other.text();
  return one.is(Kind::flag) && one.flag() == other.flag();
}

bool exists(const Parameter& parameter, const Table& values) {
  return std::all_of(parameter.when.begin(), parameter.when.end(), [&](const Condition& condition) {
    const auto* value = values.find(condition.parameter);
    return value != nullptr && std::any_of(condition.values.begin(), condition.values.end(),
                                           [&](const Value& wanted) { return same(*value, wanted); });
  });
}

Value value_of(const study::Domain& domain, double number) {
  if (domain.kind == study::Kind::integer) return static_cast<std::int64_t>(std::llround(number));
  if (domain.kind == study::Kind::real) return number;
  const auto index = static_cast<std::size_t>(std::max(0.0, number));
  if (index >= domain.choices.size()) throw Error("choice {} of {}", number, domain.choices.size());
  // Python's None, NaN and texts are JSON or near it; what is not is shown as it was written.
  try {
    return *formats::parse_json("[" + domain.choices[index] + "]", "a choice").array().begin();
  } catch (const Error&) {
    return domain.choices[index];
  }
}

std::optional<double> number_of(const study::Domain& domain, const Value& value) {
  if (domain.kind != study::Kind::category) {
    if (!value.is(Kind::integer) && !value.is(Kind::number)) return {};
    const double number = value.number();
    return study::contains(domain, number) ? std::optional(number) : std::nullopt;
  }
  for (std::size_t i = 0; i < domain.choices.size(); ++i)
    if (same(value_of(domain, static_cast<double>(i)), value)) return static_cast<double>(i);
  return {};
}

std::string plain_text(const Value& value) {
  return value.is(Kind::text) ? value.text() : formats::dump_json(value);
}

std::vector<study::ParameterId> declare(study::Study& study, const Space& space) {
  std::vector<study::ParameterId> ids, always;
  for (const auto& parameter : space.parameters) {
    ids.push_back(study.parameter(parameter.name, parameter.domain));
    if (parameter.when.empty()) always.push_back(ids.back());
  }
  study.declare(std::move(always));
  return ids;
}

Table draw(study::Study& study, study::TrialNumber number, const Space& space,
           const std::vector<study::ParameterId>& ids) {
  Table values = space.fixed;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto& parameter = space.parameters[i];
    if (exists(parameter, values))
      values.set(parameter.name, value_of(parameter.domain, study.suggest(number, ids[i])));
  }
  return values;
}

const Expression* broken_rule(const Space& space, const Table& values) {
  for (const auto& rule : space.rules)
    if (!rule.holds(values)) return &rule;
  return nullptr;
}

Table values_of(const study::History& history, const study::Trial& trial) {
  Table values;
  for (const auto& [id, number] : trial.point) {
    const auto& parameter = history.parameter(id);
    values.set(parameter.name, value_of(parameter.domain, number));
  }
  return values;
}

std::vector<Difference> differences(const Space& before, const Space& now) {
  std::vector<Difference> found;
  for (const auto& parameter : before.parameters) {
    const auto* same_name = now.find(parameter.name);
    if (same_name == nullptr) {
      found.push_back({fmt::format("{} is gone", parameter.name), true});
    } else if (same_name->domain != parameter.domain) {
      const bool other_kind = same_name->domain.kind != parameter.domain.kind ||
                              same_name->domain.choices != parameter.domain.choices;
      const auto change = fmt::format("{} was {} and is {}", parameter.name, study::text_of(parameter.domain),
                                      study::text_of(same_name->domain));
      found.push_back({other_kind && study::text_of(parameter.domain) == study::text_of(same_name->domain)
                           ? fmt::format("{} has other choices", parameter.name)
                           : change,
                       other_kind});
    }
  }
  for (const auto& parameter : now.parameters)
    if (before.find(parameter.name) == nullptr)
      found.push_back({fmt::format("{} is new", parameter.name), true});
  return found;
}

}  // namespace longship::sweep
