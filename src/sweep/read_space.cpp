// SPDX-License-Identifier: Apache-2.0
#include "read_space.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/text.h"

namespace longship::sweep {
namespace {

using formats::Fields;
using formats::Kind;
using formats::Table;
using formats::Value;

bool is_scalar(const Value& value) {
  return value.is(Kind::flag) || value.is(Kind::integer) || value.is(Kind::number) || value.is(Kind::text);
}

// Names stand in commands as {lr} and in rules as lr.
void check_name(const Fields& fields, const std::string& name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const bool good =
      !name.empty() && name.size() <= 63 && is_letter(name.front()) &&
      std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
  if (!good)
    throw fields.wrong(name, "a parameter's name is letters, digits and underscores, no digit first");
  for (const auto* word : {"and", "or", "not", "trial", "parent"})
    if (name == word) throw fields.wrong(name, "this word has a meaning of its own: take another name");
}

bool are_alike(const Value& one, const Value& other) {
  const auto sort_of = [](const Value& value) {
    return value.is(Kind::integer) ? Kind::number : value.kind();
  };
  return sort_of(one) == sort_of(other);
}

study::Domain checked_domain(const Fields& fields, std::string_view key, const std::string& name,
                             study::Domain domain) {
  try {
    return study::checked(name, std::move(domain));
  } catch (const Error& error) {
    throw fields.wrong(key, "{}", error.what());
  }
}

Parameter category_of(const Fields& fields, std::string_view key, const std::string& name,
                      const formats::Array& choices) {
  std::vector<std::string> texts;
  for (const auto& choice : choices) {
    if (!is_scalar(choice))
      throw fields.wrong(key, "a choice is a text, a number, true or false, found {}", choice.shown());
    if (!are_alike(choice, choices.front()))
      throw fields.wrong(key, "choices are of one kind, found {} and {}", choices.front().shown(),
                         choice.shown());
    texts.push_back(formats::dump_json(choice));
  }
  return {name, checked_domain(fields, key, name, study::category(std::move(texts))), choices, {}};
}

Parameter number_between(const Fields& own, const Fields& space, const std::string& name) {
  const auto& low = own.required("low");
  const auto& high = own.required("high");
  study::Domain domain;
  domain.low = own.number("low");
  domain.high = own.number("high");
  domain.log = own.flag("log", false);
  const bool whole = low.is(Kind::integer) && high.is(Kind::integer) &&
                     (!own.has("step") || own.required("step").is(Kind::integer));
  domain.kind = own.choice<study::Kind>("type", {{"float", study::Kind::real}, {"int", study::Kind::integer}},
                                        whole ? study::Kind::integer : study::Kind::real);
  domain.step = own.number("step", domain.kind == study::Kind::integer ? 1 : 0);
  if (own.has("step") && !(domain.step > 0)) throw own.wrong("step", "expected a number above 0");
  return {name, checked_domain(space, name, name, domain), {}, {}};
}

std::vector<Condition> read_when(const Fields& own) {
  std::vector<Condition> conditions;
  if (!own.has("when")) return conditions;
  for (const auto& entry : own.required("when").table()) {
    Condition condition{entry.key, {}};
    if (entry.value.is(Kind::array))
      condition.values = entry.value.array();
    else
      condition.values.push_back(entry.value);
    conditions.push_back(std::move(condition));
  }
  return conditions;
}

Parameter read_table(const Fields& space, const std::string& name, const Value& value) {
  const std::string path = "space." + name;
  const Fields own(value, path, {"low", "high", "step", "log", "type", "choices", "when"});
  Parameter parameter;
  if (own.has("choices")) {
    for (const auto* other : {"low", "high", "step", "log", "type"})
      if (own.has(other)) throw own.wrong(other, "a parameter with choices has no {}", other);
    parameter = category_of(own, "choices", name, own.required("choices").array());
  } else {
    parameter = number_between(own, space, name);
  }
  parameter.when = read_when(own);
  return parameter;
}

// What the condition names is there, and can have the value.
void check_condition(const Fields& fields, const Space& space, const Parameter& parameter,
                     const Condition& condition) {
  const auto* of = space.find(condition.parameter);
  if (of == nullptr && space.fixed.find(condition.parameter) == nullptr)
    throw fields.wrong(parameter.name, "when: there is no parameter \"{}\"{}", printable(condition.parameter),
                       suggestion(condition.parameter, space.names()));
  if (of == nullptr) return;
  for (const auto& value : condition.values) {
    if (number_of(of->domain, value)) continue;
    std::vector<std::string> known;
    for (const auto& choice : of->choices) known.push_back(plain_text(choice));
    throw fields.wrong(parameter.name, "when: {} is never {}{}", condition.parameter, value.shown(),
                       is_scalar(value) ? suggestion(plain_text(value), known) : std::string());
  }
}

// Each behind those on which it depends; otherwise as in the file.
std::vector<Parameter> in_order(const Fields& fields, std::vector<Parameter> waiting, const Space& space) {
  std::vector<Parameter> ordered;
  const auto is_known = [&](const Condition& condition) {
    return space.fixed.find(condition.parameter) != nullptr ||
           std::any_of(ordered.begin(), ordered.end(),
                       [&](const Parameter& one) { return one.name == condition.parameter; });
  };
  while (!waiting.empty()) {
    const auto ready = std::find_if(waiting.begin(), waiting.end(), [&](const Parameter& parameter) {
      return std::all_of(parameter.when.begin(), parameter.when.end(), is_known);
    });
    if (ready == waiting.end())
      throw fields.wrong(waiting.front().name, "when: it depends on itself, through {}",
                         waiting.front().when.front().parameter);
    ordered.push_back(std::move(*ready));
    waiting.erase(ready);
  }
  return ordered;
}

std::optional<Expression::Kind> kind_of(const Space& space, std::string_view name) {
  const auto of_value = [](const Value& value) {
    return value.is(Kind::text)   ? Expression::Kind::text
           : value.is(Kind::flag) ? Expression::Kind::truth
                                  : Expression::Kind::number;
  };
  if (const auto* fixed = space.fixed.find(name)) return of_value(*fixed);
  const auto* parameter = space.find(name);
  if (parameter == nullptr) return {};
  return parameter->choices.empty() ? Expression::Kind::number : of_value(parameter->choices.front());
}

std::vector<Expression> read_rules(const Fields& study, const Space& space) {
  std::vector<Expression> rules;
  for (const auto& text : study.words("rules")) {
    try {
      rules.emplace_back(
          text, [&](std::string_view name) { return kind_of(space, name); }, space.names());
    } catch (const Error& error) {
      throw study.wrong("rules", "{}", error.what());
    }
  }
  return rules;
}

}  // namespace

Space read_space(const Fields& study) {
  const Fields fields(study.required("space"), "space");
  Space space;
  for (const auto& [name, value, place] : fields.entries()) {
    check_name(fields, name);
    if (value.is(Kind::array))
      space.parameters.push_back(category_of(fields, name, name, value.array()));
    else if (value.is(Kind::table))
      space.parameters.push_back(read_table(fields, name, value));
    else
      space.fixed.set(name, value);
  }
  if (space.parameters.empty())
    throw study.wrong("space",
                      "nothing to search: lr = {{ low = 1e-4, high = 1e-1, log = true }} is a parameter");
  for (const auto& parameter : space.parameters)
    for (const auto& condition : parameter.when) check_condition(fields, space, parameter, condition);
  space.parameters = in_order(fields, std::move(space.parameters), space);
  space.rules = read_rules(study, space);
  return space;
}

Table read_point(const Value& table, const Space& space, std::string path) {
  const Fields fields(table, std::move(path));
  for (const auto& [name, value, place] : fields.entries()) {
    const auto* parameter = space.find(name);
    if (parameter == nullptr)
      throw fields.wrong(name, "there is no such parameter{}", suggestion(name, space.names()));
    if (!number_of(parameter->domain, value))
      throw fields.wrong(name, "expected {}, found {}", study::text_of(parameter->domain), value.shown());
  }
  return table.table();
}

}  // namespace longship::sweep
