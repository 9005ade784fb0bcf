// SPDX-License-Identifier: Apache-2.0
// Reads an Expression by recursive descent; each rule of the grammar is one function, which returns the kind
// of what it read.
#pragma once
#include <initializer_list>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "expression.h"

namespace longship::sweep {

class ExpressionReader {
 public:
  using Kind = Expression::Kind;
  using Operation = Expression::Operation;

  ExpressionReader(std::string_view text, const Expression::KindOf& kind_of,
                   const std::vector<std::string>& names, Expression& into)
      : text_(text), kind_of_(kind_of), names_(names), into_(into) {}

  void read();

 private:
  using Signs = std::initializer_list<std::pair<std::string_view, Operation>>;
  using Rule = Kind (ExpressionReader::*)();

  Kind either() { return chain(&ExpressionReader::both, "or", Operation::either); }
  Kind both() { return chain(&ExpressionReader::negation, "and", Operation::both); }
  Kind negation();
  Kind comparison();
  Kind sum() { return row(&ExpressionReader::product, {{"+", Operation::add}, {"-", Operation::subtract}}); }
  Kind product() {
    return row(&ExpressionReader::factor, {{"*", Operation::multiply}, {"/", Operation::divide}});
  }
  Kind factor();
  Kind operand();
  Kind chain(Rule rule, std::string_view word, Operation operation);  // of truths
  Kind row(Rule rule, Signs signs);                                   // of numbers

  std::optional<Operation> take_one_of(Signs signs);
  bool take_sign(std::string_view sign);
  bool take_word(std::string_view word);
  std::string_view take_name();
  std::optional<double> take_number();
  std::optional<std::string> take_quoted();
  void skip_spaces();
  void expect(Kind wanted, Kind found, std::size_t at) const;
  [[nodiscard]] std::string found() const;
  void add(Operation operation, double number = 0, std::string word = {}) {
    into_.steps_.push_back({operation, number, std::move(word)});
  }

  template <class... Args>
  Error wrong(std::size_t at, fmt::format_string<Args...> format, Args&&... args) const {
    return Error(Failure::usage, "at column {} of '{}': {}", at + 1, printable(text_),
                 fmt::vformat(format, fmt::make_format_args(args...)));
  }

  std::string_view text_;
  const Expression::KindOf& kind_of_;
  const std::vector<std::string>& names_;
  Expression& into_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace longship::sweep
