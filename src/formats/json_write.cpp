// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <cmath>

#include "base/error.h"
#include "document.h"
#include "utf8.h"

namespace longship::formats {
namespace {

class JsonWriter {
 public:
  explicit JsonWriter(Layout layout) : pretty_(layout == Layout::pretty) {}

  void write(const Value& value) {
    switch (value.kind()) {
      case Kind::null:
        out_ += "null";
        break;
      case Kind::flag:
        out_ += value.flag() ? "true" : "false";
        break;
      case Kind::integer:
        out_ += std::to_string(value.integer());
        break;
      case Kind::number:
        write_number(value.number());
        break;
      case Kind::text:
        out_ += json_text(value.text());
        break;
      case Kind::array:
        write_array(value.array());
        break;
      case Kind::table:
        write_table(value.table());
        break;
    }
  }

  std::string take() { return std::move(out_); }

 private:
  void write_number(double number) {
    if (!std::isfinite(number)) throw Error("JSON cannot hold the number {}", number);
    const auto digits = fmt::format("{}", number);  // the shortest that reads back the same
    out_ += digits;
    if (digits.find_first_of(".e") == std::string::npos) out_ += ".0";  // or it would come back as an integer
  }

  void write_array(const Array& array) {
    out_ += '[';
    for (const auto& value : array) {
      next_member(&value == array.data());
      write(value);
    }
    close(array.empty(), ']');
  }

  void write_table(const Table& table) {
    out_ += '{';
    for (const auto& entry : table) {
      next_member(&entry == table.begin());
      out_ += json_text(entry.key);
      out_ += pretty_ ? ": " : ":";
      write(entry.value);
    }
    close(table.empty(), '}');
  }

  void next_member(bool first) {
    if (!first) out_ += ',';
    if (first) ++depth_;
    break_line();
  }

  void close(bool empty, char bracket) {
    if (!empty) {
      --depth_;
      break_line();
    }
    out_ += bracket;
  }

  void break_line() {
    if (!pretty_) return;
    out_ += '\n';
    out_.append(2 * depth_, ' ');
  }

  bool pretty_;
  std::size_t depth_ = 0;
  std::string out_;
};

}  // namespace

std::string dump_json(const Value& value, Layout layout) {
  JsonWriter writer(layout);
  writer.write(value);
  return writer.take();
}

std::string json_text(std::string_view text) {
  std::string quoted = "\"";
  const auto valid = with_replacements(text);
  for (const char c : valid) {
    if (c == '"' || c == '\\')
      quoted.append({'\\', c});
    else if (c == '\n')
      quoted += "\\n";
    else if (c == '\t')
      quoted += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      quoted += c;
  }
  return quoted + '"';
}

}  // namespace longship::formats
