// SPDX-License-Identifier: Apache-2.0
// A rule that the values of a trial have to keep, in one line: 'width * batch <= 65536 and optimizer !=
// "sgd"'.
//
//   or-chain   := and-chain { "or" and-chain }
//   and-chain  := negation { "and" negation }
//   negation   := "not" negation | comparison
//   comparison := sum [ ( == | != | < | <= | > | >= ) sum ]
//   sum        := product { ( + | - ) product }
//   product    := factor { ( * | / ) factor }
//   factor     := - factor | number | parameter | "text" | 'text' | ( or-chain )
//
// Kinds are checked when it is read, so that asking cannot fail: numbers are computed with, texts compared by
// == and != only. site/expression.h is the same habit for other facts: those are few, whole and known in
// advance.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/document.h"

namespace longship::sweep {

class Expression {
 public:
  enum class Kind { number, text, truth };
  // What a name is; nothing: there is no such parameter.
  using KindOf = std::function<std::optional<Kind>(std::string_view name)>;

  // An Error with the column. `names` are for the suggestion.
  Expression(std::string_view text, const KindOf& kind_of, const std::vector<std::string>& names);

  // A rule about parameters that the trial does not have is kept.
  [[nodiscard]] bool holds(const formats::Table& values) const;
  [[nodiscard]] const std::string& text() const { return text_; }

  enum class Operation {
    number,
    text,
    name,  // operands
    add,
    subtract,
    multiply,
    divide,
    minus,
    equal,
    unequal,
    less,
    at_most,
    more,
    at_least,
    both,
    either,
    negate
  };

 private:
  friend class ExpressionReader;
  // In the order of a stack machine: operands first.
  struct Step {
    Operation operation = Operation::number;
    double number = 0;
    std::string word = {};
  };
  std::string text_;
  std::vector<Step> steps_;
};

}  // namespace longship::sweep
