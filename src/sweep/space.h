// SPDX-License-Identifier: Apache-2.0
// What a study searches, as its file tells: parameters, which of them exist only together with others, what
// is fixed, and rules that values have to keep. A trial's values are a table, in the order of the file.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "expression.h"
#include "formats/document.h"
#include "study/domain.h"
#include "study/study.h"

namespace longship::sweep {

// The parameter exists only where another has one of these values.
struct Condition {
  std::string parameter;
  formats::Array values;
};

struct Parameter {
  std::string name;
  study::Domain domain;    // choices are in JSON
  formats::Array choices;  // of a category
  std::vector<Condition> when = {};
};

struct Space {
  std::vector<Parameter> parameters;  // each behind those on which it depends
  formats::Table fixed;               // given to every trial and not searched
  std::vector<Expression> rules;

  [[nodiscard]] const Parameter* find(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> names() const;  // what is fixed too
};

// Does the parameter exist, given the values of those before it?
[[nodiscard]] bool exists(const Parameter& parameter, const formats::Table& values);
[[nodiscard]] bool same(const formats::Value& one, const formats::Value& other);
// A study's number as the value it stands for.
[[nodiscard]] formats::Value value_of(const study::Domain& domain, double number);
// And back: nothing if the parameter cannot have it.
[[nodiscard]] std::optional<double> number_of(const study::Domain& domain, const formats::Value& value);
// As it stands in a command line: texts without quotes.
[[nodiscard]] std::string plain_text(const formats::Value& value);

// Tells the study what there is. An Error if earlier trials had something else by the same name.
[[nodiscard]] std::vector<study::ParameterId> declare(study::Study& study, const Space& space);
// The values of a trial that was asked for: those that exist, and what is fixed.
[[nodiscard]] formats::Table draw(study::Study& study, study::TrialNumber number, const Space& space,
                                  const std::vector<study::ParameterId>& ids);
// The first rule that the values break; null: none.
[[nodiscard]] const Expression* broken_rule(const Space& space, const formats::Table& values);

// Of any trial, also of one that was begun from Python.
[[nodiscard]] formats::Table values_of(const study::History& history, const study::Trial& trial);

// What differs between the space of a study and that of its file now: sentences for a person. Ranges may
// change; `forbidden` is true for what would make trials incomparable.
struct Difference {
  std::string sentence;
  bool forbidden = false;
};
[[nodiscard]] std::vector<Difference> differences(const Space& before, const Space& now);

}  // namespace longship::sweep
