// SPDX-License-Identifier: Apache-2.0
#include "expression.h"

#include <variant>

#include "expression_reader.h"

namespace longship::sweep {
namespace {

using Operation = Expression::Operation;
using Operand = std::variant<double, std::string>;  // a truth is 0 or 1

double computed(Operation operation, double left, double right) {
  switch (operation) {
    case Operation::add:
      return left + right;
    case Operation::subtract:
      return left - right;
    case Operation::multiply:
      return left * right;
    case Operation::divide:
      return left / right;
    case Operation::equal:
      return left == right ? 1 : 0;
    case Operation::unequal:
      return left != right ? 1 : 0;
    case Operation::less:
      return left < right ? 1 : 0;
    case Operation::at_most:
      return left <= right ? 1 : 0;
    case Operation::more:
      return left > right ? 1 : 0;
    case Operation::at_least:
      return left >= right ? 1 : 0;
    case Operation::both:
      return left != 0 && right != 0 ? 1 : 0;
    default:
      return left != 0 || right != 0 ? 1 : 0;
  }
}

Operand operand_of(const formats::Value& value) {
  if (value.is(formats::Kind::text)) return value.text();
  if (value.is(formats::Kind::flag)) return value.flag() ? 1.0 : 0.0;
  return value.number();
}

}  // namespace

Expression::Expression(std::string_view text, const KindOf& kind_of, const std::vector<std::string>& names)
    : text_(text) {
  ExpressionReader(text, kind_of, names, *this).read();
}

bool Expression::holds(const formats::Table& values) const {
  std::vector<Operand> stack;
  const auto take = [&] {
    auto top = std::move(stack.back());
    stack.pop_back();
    return top;
  };
  for (const auto& step : steps_) {
    if (step.operation == Operation::number) {
      stack.emplace_back(step.number);
    } else if (step.operation == Operation::text) {
      stack.emplace_back(step.word);
    } else if (step.operation == Operation::name) {
      const auto* value = values.find(step.word);
      if (value == nullptr) return true;
      stack.push_back(operand_of(*value));
    } else if (step.operation == Operation::minus) {
      stack.back() = -std::get<double>(stack.back());
    } else if (step.operation == Operation::negate) {
      stack.back() = std::get<double>(stack.back()) == 0 ? 1.0 : 0.0;
    } else {
      const auto right = take(), left = take();
      if (std::holds_alternative<std::string>(left))
        stack.emplace_back((left == right) == (step.operation == Operation::equal) ? 1.0 : 0.0);
      else
        stack.emplace_back(computed(step.operation, std::get<double>(left), std::get<double>(right)));
    }
  }
  return std::get<double>(stack.back()) != 0;
}

}  // namespace longship::sweep
