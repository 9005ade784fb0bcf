// SPDX-License-Identifier: Apache-2.0
#include "dockerfile.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/text.h"
#include "formats/document.h"

namespace longship::image {
namespace {

const std::vector<std::string> known = {"FROM", "RUN",   "COPY",       "ENV",  "WORKDIR", "LABEL", "CMD",
                                        "ARG",  "SHELL", "ENTRYPOINT", "USER", "EXPOSE",  "VOLUME"};
// Docker's own that are not done here, each with what to write instead.
const std::map<std::string, std::string> refused = {
    {"ADD", "use COPY; archives and addresses are fetched with RUN"},
    {"ONBUILD", "write the instruction where it is needed"},
    {"HEALTHCHECK", "a job's ranks are watched by Longship"},
    {"STOPSIGNAL", "ranks get SIGTERM"},
    {"MAINTAINER", "use LABEL"},
};

std::string capitals(std::string_view word) {
  std::string text(word);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

Instruction instruction_of(const std::string& joined, int line, std::string_view file) {
  const std::string_view text = trim(joined);
  const auto end = std::min(text.find_first_of(" \t"), text.size());
  Instruction instruction{capitals(text.substr(0, end)), std::string(trim(text.substr(end))), line};
  const auto wrong = [&](const std::string& what) {
    throw Error(Failure::usage, "{}:{}: {}", file, line, what);
  };
  if (const auto reason = refused.find(instruction.word); reason != refused.end())
    wrong(instruction.word + " is not supported: " + reason->second);
  if (std::find(known.begin(), known.end(), instruction.word) == known.end())
    wrong("unknown instruction " + printable(instruction.word) + suggestion(instruction.word, known));
  if (instruction.rest.empty()) wrong(instruction.word + " needs something after it");
  if ((instruction.word == "RUN" || instruction.word == "COPY") && instruction.rest.find("<<") == 0)
    wrong("here-documents are not supported: put the lines into a file, or join them with \\");
  return instruction;
}

struct Reading {
  char quote = '\0';
  std::string word;
  bool any = false;  // an empty pair of quotes is a word too
};

// A variable at text[at] == '$'; moves `at` behind it.
std::string variable_at(std::string_view text, std::size_t& at, const Variables& variables) {
  const auto value_of = [&](std::string_view name) {
    const auto found = variables.find(std::string(name));
    return found == variables.end() ? std::string() : found->second;
  };
  const auto is_part = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  ++at;
  if (at < text.size() && text[at] == '{') {
    const auto close = text.find('}', at);
    if (close == std::string_view::npos) throw Error("\"${{\" without \"}}\"");
    const std::string_view inside = text.substr(at + 1, close - at - 1);
    at = close + 1;
    const auto operation = inside.find(':');
    const std::string value = value_of(inside.substr(0, operation));
    if (operation == std::string_view::npos) return value;
    const std::string_view other = inside.substr(std::min(operation + 2, inside.size()));
    if (inside.substr(operation).starts_with(":-")) return value.empty() ? expand(other, variables) : value;
    if (inside.substr(operation).starts_with(":+")) return value.empty() ? "" : expand(other, variables);
    throw Error("${{{}}} is not understood", printable(inside));
  }
  const std::size_t start = at;
  while (at < text.size() && is_part(static_cast<unsigned char>(text[at]))) ++at;
  return at == start ? "$" : value_of(text.substr(start, at - start));
}

}  // namespace

std::vector<Instruction> parse_dockerfile(std::string_view text, std::string_view file) {
  std::vector<Instruction> instructions;
  std::string joined;
  int line = 0, start = 0;
  for (const auto raw : split(text, '\n')) {
    ++line;
    std::string_view content = raw;
    while (!content.empty() && (content.back() == '\r' || content.back() == ' ' || content.back() == '\t'))
      content.remove_suffix(1);
    const std::string_view trimmed = trim(content);
    if (trimmed.empty() || trimmed.starts_with('#')) continue;  // also between continued lines
    if (joined.empty()) start = line;
    if (content.ends_with('\\')) {
      joined += std::string(content.substr(0, content.size() - 1)) + " ";
      continue;
    }
    instructions.push_back(instruction_of(joined + std::string(content), start, file));
    joined.clear();
  }
  if (!trim(joined).empty()) instructions.push_back(instruction_of(joined, start, file));
  const auto is_arg = [](const Instruction& one) { return one.word == "ARG"; };
  const auto first = std::find_if_not(instructions.begin(), instructions.end(), is_arg);
  if (first == instructions.end()) throw Error(Failure::usage, "{}: it has no FROM", file);
  if (first->word != "FROM")
    throw Error(Failure::usage, "{}:{}: {} comes before FROM", file, first->line, first->word);
  for (auto later = first + 1; later != instructions.end(); ++later)
    if (later->word == "FROM")
      throw Error(Failure::usage, "{}:{}: a second FROM: builds of several stages are not supported", file,
                  later->line);
  return instructions;
}

bool is_exec_form(std::string_view rest) {
  return rest.starts_with('[');
}

std::vector<std::string> exec_form(std::string_view rest) {
  std::vector<std::string> words;
  const auto list = formats::parse_json(rest, "list");
  for (const auto& word : list.array()) words.push_back(word.text());
  if (words.empty()) throw Error("the list is empty");
  return words;
}

std::string expand(std::string_view text, const Variables& variables) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\\' && at + 1 < text.size() && text[at + 1] == '$') {
      result += '$';
      at += 2;
    } else if (text[at] == '$') {
      result += variable_at(text, at, variables);
    } else {
      result += text[at++];
    }
  }
  return result;
}

std::vector<std::string> words_of(std::string_view text, const Variables& variables) {
  std::vector<std::string> words;
  Reading now;
  const auto end_word = [&] {
    if (now.any) words.push_back(std::move(now.word));
    now = {};
  };
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (now.quote == '\0' && (c == ' ' || c == '\t')) {
      end_word();
      ++at;
      continue;
    }
    now.any = true;
    if (c == '$' && now.quote != '\'') {
      now.word += variable_at(text, at, variables);
      continue;
    }
    ++at;
    if (c == '\\' && now.quote != '\'' && at < text.size()) {
      now.word += text[at++];
    } else if (c == now.quote) {
      now.quote = '\0';
    } else if (now.quote == '\0' && (c == '"' || c == '\'')) {
      now.quote = c;
    } else {
      now.word += c;
    }
  }
  if (now.quote != '\0') throw Error("a quote ({}) is not closed", now.quote);
  end_word();
  return words;
}

std::vector<std::pair<std::string, std::string>> assignments(std::string_view text,
                                                             const Variables& variables) {
  const auto first_blank = text.find_first_of(" \t");
  const auto first_equals = text.find('=');
  if (first_equals == std::string_view::npos || first_blank < first_equals) {
    const auto key = text.substr(0, first_blank);
    if (first_blank == std::string_view::npos)
      throw Error("{} has no value: write NAME=VALUE", printable(key));
    return {{std::string(key), expand(trim(text.substr(first_blank)), variables)}};
  }
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& word : words_of(text, variables)) {
    const auto equals = word.find('=');
    if (equals == 0 || equals == std::string::npos) throw Error("{} is not NAME=VALUE", printable(word));
    found.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return found;
}

}  // namespace longship::image
