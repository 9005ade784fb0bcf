// SPDX-License-Identifier: Apache-2.0
// A Dockerfile as a list of instructions with their lines. Reading it needs nothing but its text.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace longship::image {

struct Instruction {
  std::string word;  // "RUN"; always in capitals
  std::string rest;  // what follows, with continued lines joined
  int line = 0;      // where it starts
};

// Errors name file and line; a word that is not an instruction comes with the nearest one that is.
[[nodiscard]] std::vector<Instruction> parse_dockerfile(std::string_view text, std::string_view file);

// ["a", "b"] as Docker reads it: a JSON list of texts. Nothing if it is the other form, a line for a shell.
[[nodiscard]] bool is_exec_form(std::string_view rest);
[[nodiscard]] std::vector<std::string> exec_form(std::string_view rest);

using Variables = std::map<std::string, std::string>;
// $NAME, ${NAME}, ${NAME:-else}, ${NAME:+then}, \$; a variable that is not set is empty.
[[nodiscard]] std::string expand(std::string_view text, const Variables& variables);
// Words of a line: blanks separate, quotes and backslashes keep together. Variables are expanded, not in
// single quotes.
[[nodiscard]] std::vector<std::string> words_of(std::string_view text, const Variables& variables);

// Of ENV, LABEL, ARG: KEY=VALUE words, or the old form "KEY all the rest".
[[nodiscard]] std::vector<std::pair<std::string, std::string>> assignments(std::string_view text,
                                                                           const Variables& variables);

}  // namespace longship::image
