// SPDX-License-Identifier: Apache-2.0
// What a queue accepts, in one line: 'nodes >= 17 and (walltime <= 2h or team == "clic")'.
//
//   or-chain    := and-chain { "or" and-chain }
//   and-chain   := term { "and" term }
//   term        := "not" term | "(" or-chain ")" | field comparison value
//   field       := nodes | ranks | gpus      numbers, of the whole job
//                | walltime | memory         "2h", "90GiB"; memory is that of a node
//                | account | team | name     texts: == and != only, 'in quotes' or "in quotes"
//   comparison  := == | != | < | <= | > | >=
//
// What a job does not say is 0 or "". A comparison with the wrong kind of value is an Error when it is read,
// so that asking can not fail. tests/fuzz/expression_fuzz.cpp feeds the reader.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longship::site {

// The facts of a job that an expression may ask for. The texts must outlive the call.
struct Asked {
  std::int64_t nodes = 1, ranks = 1, gpus = 0;
  std::int64_t walltime = 0;  // seconds
  std::int64_t memory = 0;    // bytes on a node
  std::string_view account, team, name;
};

class Expression {
 public:
  Expression() = default;                      // accepts everything
  explicit Expression(std::string_view text);  // an Error with the column: 'at 9: expected a number, …'

  [[nodiscard]] bool accepts(const Asked& asked) const;
  // "nodes = 4, team = \"\"": the facts that it asks for, as they are.
  [[nodiscard]] std::string facts(const Asked& asked) const;
  [[nodiscard]] const std::string& text() const { return text_; }  // as it was written; empty: everything
  [[nodiscard]] bool operator==(const Expression& other) const { return text_ == other.text_; }

  enum class Field { nodes, ranks, gpus, walltime, memory, account, team, name };
  enum class Operation { equal, unequal, less, at_most, more, at_least, both, either, negate };

 private:
  friend class ExpressionReader;
  // In the order of a stack machine: operands first.
  struct Step {
    Operation operation = Operation::both;
    Field field = Field::nodes;
    std::int64_t number = 0;
    std::string word = {};
  };
  std::string text_;
  std::vector<Step> steps_;
};

}  // namespace longship::site
