// SPDX-License-Identifier: Apache-2.0
#include "expression_reader.h"

#include <charconv>
#include <cmath>

namespace longship::sweep {
namespace {

// A line for a person; whatever is longer or deeper was not written by one.
constexpr std::size_t longest = 4096;
constexpr int deepest = 64;

bool is_name_part(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view word_for(Expression::Kind kind) {
  switch (kind) {
    case Expression::Kind::number:
      return "a number";
    case Expression::Kind::text:
      return "a text";
    case Expression::Kind::truth:
      return "a comparison";
  }
  return "";
}

}  // namespace

void ExpressionReader::read() {
  if (text_.size() > longest) throw Error(Failure::usage, "longer than {} characters", longest);
  expect(Kind::truth, either(), 0);
  skip_spaces();
  if (at_ < text_.size()) throw wrong(at_, "expected \"and\", \"or\" or the end, found {}", found());
}

ExpressionReader::Kind ExpressionReader::chain(Rule rule, std::string_view word, Operation operation) {
  skip_spaces();
  auto start = at_;
  const auto first = (this->*rule)();
  while (take_word(word)) {
    expect(Kind::truth, first, start);
    skip_spaces();
    start = at_;
    expect(Kind::truth, (this->*rule)(), start);
    add(operation);
  }
  return first;
}

ExpressionReader::Kind ExpressionReader::negation() {
  skip_spaces();
  if (++depth_ > deepest) throw wrong(at_, "nested too deeply");
  Kind kind{};
  if (take_word("not")) {
    skip_spaces();
    const auto start = at_;
    expect(Kind::truth, kind = negation(), start);
    add(Operation::negate);
  } else {
    kind = comparison();
  }
  --depth_;
  return kind;
}

ExpressionReader::Kind ExpressionReader::comparison() {
  skip_spaces();
  const auto start = at_;
  const auto left = sum();
  const auto operation = take_one_of({{"==", Operation::equal},
                                      {"!=", Operation::unequal},
                                      {"<=", Operation::at_most},
                                      {">=", Operation::at_least},
                                      {"<", Operation::less},
                                      {">", Operation::more}});
  if (!operation) return left;
  skip_spaces();
  const auto after = at_;
  if (left == Kind::truth) throw wrong(start, "a comparison cannot be compared once more");
  if (left == Kind::text && *operation != Operation::equal && *operation != Operation::unequal)
    throw wrong(start, "a text is compared with == or !=");
  expect(left, sum(), after);
  add(*operation);
  return Kind::truth;
}

ExpressionReader::Kind ExpressionReader::row(Rule rule, Signs signs) {
  skip_spaces();
  auto start = at_;
  const auto first = (this->*rule)();
  while (const auto operation = take_one_of(signs)) {
    expect(Kind::number, first, start);
    skip_spaces();
    start = at_;
    expect(Kind::number, (this->*rule)(), start);
    add(*operation);
  }
  return first;
}

ExpressionReader::Kind ExpressionReader::factor() {
  skip_spaces();
  if (++depth_ > deepest) throw wrong(at_, "nested too deeply");
  Kind kind{};
  if (take_sign("-")) {
    const auto start = at_;
    expect(Kind::number, kind = factor(), start);
    add(Operation::minus);
  } else if (take_sign("(")) {
    kind = either();
    if (!take_sign(")")) throw wrong(at_, "expected \")\", found {}", found());
  } else {
    kind = operand();
  }
  --depth_;
  return kind;
}

ExpressionReader::Kind ExpressionReader::operand() {
  const auto start = at_;
  if (const auto number = take_number()) {
    add(Operation::number, *number);
    return Kind::number;
  }
  if (auto text = take_quoted()) {
    add(Operation::text, 0, std::move(*text));
    return Kind::text;
  }
  const auto name = take_name();
  if (name.empty()) throw wrong(start, "expected a parameter, a number or a text, found {}", found());
  const auto kind = kind_of_(name);
  if (!kind) throw wrong(start, "there is no parameter \"{}\"{}", printable(name), suggestion(name, names_));
  add(Operation::name, 0, std::string(name));
  return *kind;
}

std::optional<Expression::Operation> ExpressionReader::take_one_of(Signs signs) {
  for (const auto& [sign, operation] : signs)
    if (take_sign(sign)) return operation;
  return {};
}

bool ExpressionReader::take_sign(std::string_view sign) {
  skip_spaces();
  if (!text_.substr(at_).starts_with(sign)) return false;
  at_ += sign.size();
  return true;
}

bool ExpressionReader::take_word(std::string_view word) {
  skip_spaces();
  const auto start = at_;
  if (take_name() == word) return true;
  at_ = start;
  return false;
}

std::string_view ExpressionReader::take_name() {
  const auto start = at_;
  while (at_ < text_.size() && is_name_part(text_[at_])) ++at_;
  return text_.substr(start, at_ - start);
}

std::optional<double> ExpressionReader::take_number() {
  if (at_ == text_.size() || !((text_[at_] >= '0' && text_[at_] <= '9') || text_[at_] == '.')) return {};
  double number = 0;
  const auto* begin = text_.data() + at_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), number);
  if (error != std::errc() || !std::isfinite(number))
    throw wrong(at_, "expected a number, found {}", found());
  at_ += static_cast<std::size_t>(end - begin);
  return number;
}

std::optional<std::string> ExpressionReader::take_quoted() {
  if (at_ == text_.size() || (text_[at_] != '"' && text_[at_] != '\'')) return {};
  const auto end = text_.find(text_[at_], at_ + 1);
  if (end == std::string_view::npos) throw wrong(at_, "this quote is never closed");
  std::string text(text_.substr(at_ + 1, end - at_ - 1));
  at_ = end + 1;
  return text;
}

void ExpressionReader::skip_spaces() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
}

void ExpressionReader::expect(Kind wanted, Kind found, std::size_t at) const {
  if (wanted != found) throw wrong(at, "expected {}, found {}", word_for(wanted), word_for(found));
}

std::string ExpressionReader::found() const {
  if (at_ >= text_.size()) return "the end";
  const auto end = text_.find_first_of(" \t\n", at_);
  return fmt::format("\"{}\"", printable(text_.substr(at_, std::min(end, text_.size()) - at_).substr(0, 32)));
}

}  // namespace longship::sweep
