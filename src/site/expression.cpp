// SPDX-License-Identifier: Apache-2.0
#include "expression.h"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "formats/units.h"

namespace longship::site {

using Field = Expression::Field;
using Operation = Expression::Operation;

namespace {

// A line for a person; whatever is longer or deeper was not written by one.
constexpr std::size_t longest = 4096;
constexpr int deepest = 32;

constexpr std::array<std::pair<std::string_view, Field>, 8> known_fields = {{{"nodes", Field::nodes},
                                                                             {"ranks", Field::ranks},
                                                                             {"gpus", Field::gpus},
                                                                             {"walltime", Field::walltime},
                                                                             {"memory", Field::memory},
                                                                             {"account", Field::account},
                                                                             {"team", Field::team},
                                                                             {"name", Field::name}}};

constexpr std::array<std::pair<std::string_view, Operation>, 6> comparisons = {{{"==", Operation::equal},
                                                                                {"!=", Operation::unequal},
                                                                                {"<=", Operation::at_most},
                                                                                {">=", Operation::at_least},
                                                                                {"<", Operation::less},
                                                                                {">", Operation::more}}};

bool is_text(Field field) {
  return field == Field::account || field == Field::team || field == Field::name;
}

std::string_view name_of(Field field) {
  for (const auto& [name, known] : known_fields)
    if (known == field) return name;
  return "";
}

std::string_view text_of(Field field, const Asked& asked) {
  return field == Field::account ? asked.account : field == Field::team ? asked.team : asked.name;
}

std::int64_t number_of(Field field, const Asked& asked) {
  switch (field) {
    case Field::nodes:
      return asked.nodes;
    case Field::ranks:
      return asked.ranks;
    case Field::gpus:
      return asked.gpus;
    case Field::walltime:
      return asked.walltime;
    case Field::memory:
      return asked.memory;
    default:
      return 0;
  }
}

bool compare(Operation operation, std::int64_t left, std::int64_t right) {
  switch (operation) {
    case Operation::equal:
      return left == right;
    case Operation::unequal:
      return left != right;
    case Operation::less:
      return left < right;
    case Operation::at_most:
      return left <= right;
    case Operation::more:
      return left > right;
    default:
      return left >= right;
  }
}

bool is_word_part(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == ':';
}

}  // namespace

// By recursive descent; each rule is one function.
class ExpressionReader {
 public:
  ExpressionReader(std::string_view text, Expression& into) : text_(text), into_(into) {}

  void read() {
    if (text_.size() > longest) throw Error(Failure::usage, "longer than {} characters", longest);
    either();
    skip_spaces();
    if (at_ < text_.size()) throw wrong(at_, "expected \"and\", \"or\" or the end, found {}", found());
  }

 private:
  void either() {
    both();
    while (take_word("or")) {
      both();
      add({Operation::either});
    }
  }

  void both() {
    term();
    while (take_word("and")) {
      term();
      add({Operation::both});
    }
  }

  void term() {
    skip_spaces();
    if (++depth_ > deepest) throw wrong(at_, "nested too deeply");
    if (take_word("not")) {
      term();
      add({Operation::negate});
    } else if (take_sign("(")) {
      either();
      if (!take_sign(")")) throw wrong(at_, "expected \")\", found {}", found());
    } else {
      comparison();
    }
    --depth_;
  }

  void comparison() {
    const auto start = at_;
    const auto field = read_field();
    const auto operation = read_comparison();
    if (is_text(field) && operation != Operation::equal && operation != Operation::unequal)
      throw wrong(start, "{} is a text: it is compared with == or !=", name_of(field));
    if (is_text(field))
      add({operation, field, 0, read_quoted(field)});
    else
      add({operation, field, read_number(field), {}});
  }

  Field read_field() {
    skip_spaces();
    const auto start = at_;
    const auto word = take_any_word();
    for (const auto& [name, field] : known_fields)
      if (name == word) return field;
    at_ = start;
    std::vector<std::string> known;
    for (const auto& [name, field] : known_fields) known.emplace_back(name);
    if (word.empty()) throw wrong(start, "expected one of {}, found {}", join(known, ", "), found());
    throw wrong(start, "\"{}\" is none of {}{}", printable(word), join(known, ", "), suggestion(word, known));
  }

  Operation read_comparison() {
    for (const auto& [sign, operation] : comparisons)
      if (take_sign(sign)) return operation;
    throw wrong(at_, "expected ==, !=, <, <=, > or >=, found {}", found());
  }

  std::string read_quoted(Field field) {
    skip_spaces();
    const auto start = at_;
    const auto text = take_quoted();
    if (!text) throw wrong(start, "expected a text in quotes for {}, found {}", name_of(field), found());
    return std::string(*text);
  }

  std::int64_t read_number(Field field) {
    skip_spaces();
    const auto start = at_;
    auto word = take_quoted();
    if (!word) word = take_any_word();
    try {
      if (field == Field::walltime) return formats::parse_duration(*word).count();
      if (field == Field::memory) return checked(formats::parse_bytes(*word));
    } catch (const Error& error) {
      throw wrong(start, "{}", error.what());
    }
    std::int64_t number = 0;
    const auto* end = word->data() + word->size();
    const auto [stop, error] = std::from_chars(word->data(), end, number);
    if (!word->empty() && error == std::errc() && stop == end) return number;
    at_ = start;
    throw wrong(start, "expected a number for {}, found {}", name_of(field), found());
  }

  static std::int64_t checked(std::uint64_t bytes) {
    if (!std::in_range<std::int64_t>(bytes)) throw Error("too large");
    return static_cast<std::int64_t>(bytes);
  }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }

  bool take_sign(std::string_view sign) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }

  bool take_word(std::string_view word) {
    skip_spaces();
    const auto start = at_;
    if (take_any_word() == word) return true;
    at_ = start;
    return false;
  }

  std::string_view take_any_word() {
    const auto start = at_;
    while (at_ < text_.size() && is_word_part(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }

  std::optional<std::string_view> take_quoted() {
    if (at_ == text_.size() || (text_[at_] != '"' && text_[at_] != '\'')) return {};
    const auto end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) throw wrong(at_, "this quote is never closed");
    const auto text = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return text;
  }

  std::string found() const {
    if (at_ >= text_.size()) return "the end";
    const auto end = text_.find_first_of(" \t\n", at_);
    return fmt::format("\"{}\"",
                       printable(text_.substr(at_, std::min(end, text_.size()) - at_).substr(0, 32)));
  }

  void add(Expression::Step step) { into_.steps_.push_back(std::move(step)); }

  template <class... Args>
  Error wrong(std::size_t at, fmt::format_string<Args...> format, Args&&... args) const {
    return Error(Failure::usage, "at column {} of '{}': {}", at + 1, printable(text_),
                 fmt::vformat(format, fmt::make_format_args(args...)));
  }

  std::string_view text_;
  Expression& into_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

Expression::Expression(std::string_view text) : text_(text) {
  ExpressionReader(text, *this).read();
}

bool Expression::accepts(const Asked& asked) const {
  if (steps_.empty()) return true;
  std::vector<bool> stack;
  stack.reserve(steps_.size());
  for (const auto& step : steps_) {
    if (step.operation == Operation::negate) {
      stack.back() = !stack.back();
    } else if (step.operation == Operation::both || step.operation == Operation::either) {
      const bool right = stack.back();
      stack.pop_back();
      stack.back() = step.operation == Operation::both ? stack.back() && right : stack.back() || right;
    } else if (is_text(step.field)) {
      stack.push_back((text_of(step.field, asked) == step.word) == (step.operation == Operation::equal));
    } else {
      stack.push_back(compare(step.operation, number_of(step.field, asked), step.number));
    }
  }
  return stack.back();
}

std::string Expression::facts(const Asked& asked) const {
  std::string text;
  std::uint32_t told = 0;
  for (const auto& step : steps_) {
    if (step.operation >= Operation::both) continue;
    const auto bit = std::uint32_t{1} << static_cast<unsigned>(step.field);
    if ((told & bit) != 0) continue;
    told |= bit;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} = ", name_of(step.field));
    if (is_text(step.field))
      text += fmt::format("\"{}\"", printable(text_of(step.field, asked)));
    else if (const auto number = number_of(step.field, asked); step.field == Field::walltime)
      text += formats::human_duration(std::chrono::seconds(number));
    else if (step.field == Field::memory)
      text += formats::human_bytes(static_cast<std::uint64_t>(number));
    else
      text += std::to_string(number);
  }
  return text;
}

}  // namespace longship::site
