// SPDX-License-Identifier: Apache-2.0
#include "table.h"

#include <algorithm>
#include <cstdint>

namespace longship::cli {
namespace {

struct Glyph {
  std::string_view bytes;
  std::size_t cells;
};

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

std::uint32_t code_point(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  if (bytes.size() == 1) return lead;
  std::uint32_t code = lead & (0xffu >> (bytes.size() + 1));
  for (const char c : bytes.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3f);
  return code;
}

// The blocks that matter in names of people, files and metrics; the C library's wcwidth depends on the
// locale.
std::size_t cells_of(std::uint32_t code) {
  const auto within = [code](std::uint32_t first, std::uint32_t last) {
    return code >= first && code <= last;
  };
  if (within(0x300, 0x36f) || within(0x200b, 0x200d) || within(0xfe00, 0xfe0f) || code == 0xfeff) return 0;
  if (within(0x1100, 0x115f) || within(0x2e80, 0xa4cf) || within(0xac00, 0xd7a3) || within(0xf900, 0xfaff) ||
      within(0xfe30, 0xfe6f) || within(0xff00, 0xff60) || within(0xffe0, 0xffe6) ||
      within(0x1f300, 0x1faff) || within(0x20000, 0x3fffd))
    return 2;
  return 1;
}

// The first thing in the text that moves the cursor, or an escape sequence that does not.
Glyph first_glyph(std::string_view text) {
  if (text.starts_with("\033[")) {
    const auto end = std::find_if(text.begin() + 2, text.end(), [](char c) { return c >= '@' && c <= '~'; });
    const auto length = static_cast<std::size_t>(end - text.begin()) + (end == text.end() ? 0 : 1);
    return {text.substr(0, length), 0};
  }
  std::size_t length = 1;
  while (length < text.size() && length < 4 && is_continuation(text[length])) ++length;
  const auto bytes = text.substr(0, length);
  return {bytes, cells_of(code_point(bytes))};
}

void append_cell(std::string& line, std::string_view cell, std::size_t wanted, Align align) {
  const std::string blanks(wanted - width(cell), ' ');
  if (align == Align::right) line += blanks;
  line += cell;
  if (align == Align::left) line += blanks;
}

std::string upper(std::string text) {  // of ASCII letters
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

void trim_end(std::string& line) {
  line.erase(line.find_last_not_of(' ') + 1);
}

}  // namespace

std::string TextTable::text() const {
  std::vector<std::string> titles;
  for (const auto& column : columns_) titles.push_back(upper(column.title));
  std::vector<std::vector<std::string>> lines = {titles};
  lines.insert(lines.end(), rows_.begin(), rows_.end());

  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& cells : lines)
    for (std::size_t i = 0; i < std::min(cells.size(), widths.size()); ++i)
      widths[i] = std::max(widths[i], width(cells[i]));

  std::string all;
  for (const auto& cells : lines) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) line += "  ";
      append_cell(line, i < cells.size() ? cells[i] : std::string_view(), widths[i], columns_[i].align);
    }
    trim_end(line);
    all += line + "\n";
  }
  return all;
}

std::size_t width(std::string_view text) {
  std::size_t cells = 0;
  while (!text.empty()) {
    const auto glyph = first_glyph(text);
    cells += glyph.cells;
    text.remove_prefix(glyph.bytes.size());
  }
  return cells;
}

std::string cut_to_width(std::string_view text, std::size_t cells) {
  std::string kept;
  while (!text.empty()) {
    const auto glyph = first_glyph(text);
    text.remove_prefix(glyph.bytes.size());
    if (glyph.cells == 0) {
      kept += glyph.bytes;
    } else if (glyph.cells <= cells) {
      kept += glyph.bytes;
      cells -= glyph.cells;
    } else {
      cells = 0;
    }
  }
  return kept;
}

}  // namespace longship::cli
