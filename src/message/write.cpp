// SPDX-License-Identifier: Apache-2.0
#include "write.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "formats/document.h"

namespace longship::message {
namespace {

bool is_plain(char c) {
  return c >= 0x20 && c < 0x7f;
}

// A job in a message is JSON in JSON: mostly quotes to quote.
void append_with_quotes_quoted(std::string& out, std::string_view text) {
  for (;;) {
    const auto quote = text.find_first_of("\"\\");
    out += text.substr(0, quote);
    if (quote == std::string_view::npos) return;
    out += '\\';
    out += text[quote];
    text.remove_prefix(quote + 1);
  }
}

}  // namespace

void append_text(std::string& out, std::string_view text) {
  if (!std::all_of(text.begin(), text.end(), is_plain)) {
    out += formats::json_text(text);
    return;
  }
  out += '"';
  append_with_quotes_quoted(out, text);
  out += '"';
}

void append_integer(std::string& out, std::uint64_t integer) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, integer).ptr;
  out.append(digits, end);
}

void append_number(std::string& out, double number) {
  if (std::isnan(number)) {
    out += "\"nan\"";
  } else if (std::isinf(number)) {
    out += number > 0 ? "\"inf\"" : "\"-inf\"";
  } else {
    char digits[40];
    const auto end = std::to_chars(digits, digits + sizeof digits, number == 0 ? 0.0 : number).ptr;  // no -0
    out.append(digits, end);
  }
}

void ObjectWriter::begin(std::string_view key) {
  if (!first_) out_ += ',';
  first_ = false;
  out_ += '"';
  out_ += key;
  out_ += "\":";
}

void ObjectWriter::text(std::string_view key, std::string_view text) {
  begin(key);
  append_text(out_, text);
}

void ObjectWriter::integer(std::string_view key, std::uint64_t integer) {
  begin(key);
  append_integer(out_, integer);
}

void ObjectWriter::signed_integer(std::string_view key, std::int64_t integer) {
  begin(key);
  out_ += std::to_string(integer);
}

void ObjectWriter::flag(std::string_view key, bool flag) {
  begin(key);
  out_ += flag ? "true" : "false";
}

void ObjectWriter::texts(std::string_view key, std::span<const std::string> texts) {
  list(key, texts, [](std::string& out, const std::string& text) { append_text(out, text); });
}

}  // namespace longship::message
