// SPDX-License-Identifier: Apache-2.0
// Columns for people: aligned by what a terminal shows, not by bytes, and without blanks at the ends of
// lines.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace longship::cli {

enum class Align { left, right };

class TextTable {
 public:
  struct Column {
    std::string title;
    Align align = Align::left;  // numbers: right
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Cells that are missing at the end stay empty. What others chose has to be made printable() by the caller.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  // Titles, in capitals so that they are no row, and rows, each with a line break; two blanks between
  // columns.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Cells that a terminal needs for a UTF-8 text: combining marks none, East Asian characters two, escape
// sequences none.
[[nodiscard]] std::size_t width(std::string_view text);
// The longest beginning that fits; escape sequences are kept, so that a colour is also switched off again.
[[nodiscard]] std::string cut_to_width(std::string_view text, std::size_t cells);

}  // namespace longship::cli
