// SPDX-License-Identifier: Apache-2.0
// longship completion: what a shell needs to complete our words, made from the same declarations that parse
// them, so that it cannot be out of date. The shell's own file names complete everything else.
#include "completion.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "command.h"

namespace longship::cli {
namespace {

struct Word {
  std::string word, about;
  std::vector<std::string> values;  // of an option with a fixed set of them
  bool takes_value = false;
};

// One command with the words that can follow it.
struct Node {
  std::string path;  // "longship image build"
  std::vector<Word> commands, options;
};

// The first sentence, as a menu has one line for it.
std::string short_about(const std::string& about) {
  const auto line = about.substr(0, about.find('\n'));
  return line.substr(0, line.find(": "));
}

// "-t,--tag" as it is typed, the long names first; none for an argument.
std::vector<std::string> typed_names(const Option& option) {
  std::vector<std::string> names;
  for (const auto name : split(option.names, ','))
    if (name.starts_with('-')) names.emplace_back(name);
  std::stable_partition(names.begin(), names.end(),
                        [](const std::string& name) { return name.starts_with("--"); });
  return names;
}

void collect(const Command& app, const std::string& path, std::vector<Node>& nodes) {
  Node node{path, {}, {}};
  for (const auto& command : app.commands)
    node.commands.push_back({command.name, short_about(command.about), {}, false});
  for (const auto& option : app.options) {
    const auto names = typed_names(option);
    for (const auto& name : names)
      node.options.push_back({name, short_about(option.about), option.rules.choices, option.takes_value()});
    if (names.empty())  // an argument with a fixed set of values
      for (const auto& value : option.rules.choices) node.commands.push_back({value, "", {}, false});
  }
  nodes.push_back(node);
  for (const auto& command : app.commands) collect(command, path + " " + command.name, nodes);
}

std::vector<Node> nodes_of(const Command& app) {
  std::vector<Node> nodes;
  collect(app, "longship", nodes);
  return nodes;
}

std::string words_of(const std::vector<Word>& words) {
  std::vector<std::string> names;
  for (const auto& word : words) names.push_back(word.word);
  return join(names, " ");
}

std::string in_quotes(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

// The walk is the same in bash and zsh: follow the commands among the words, skipping options and their
// values.
std::string walk(const std::vector<Node>& nodes) {
  std::string cases;
  for (const auto& node : nodes)
    for (const auto& command : node.commands)
      if (std::any_of(nodes.begin(), nodes.end(),
                      [&](const Node& n) { return n.path == node.path + " " + command.word; }))
        cases += fmt::format("      {}) at={} ;;\n", in_quotes(node.path + "/" + command.word),
                             in_quotes(node.path + " " + command.word));
  return cases;
}

std::string option_values(const std::vector<Node>& nodes) {
  std::string cases;
  for (const auto& node : nodes)
    for (const auto& option : node.options)
      if (option.takes_value)
        cases += fmt::format("    {}) found={} ;;\n", in_quotes(node.path + "/" + option.word),
                             in_quotes(option.values.empty() ? "(file)" : join(option.values, " ")));
  return cases;
}

// Both scripts walk the words typed so far: they follow the commands and skip options and their values.
constexpr std::string_view bash_script =
    R"sh(# bash completion for longship; made by `longship completion bash`
_longship_value() {  # what the value of an option can be: words, (file), or nothing if it takes none
  local found=''
  case "$1/$2" in
@values@  esac
  printf '%s' "$found"
}
_longship() {
  local current="${COMP_WORDS[COMP_CWORD]}" at='longship' skip='' i commands='' options='' value=''
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ "${COMP_WORDS[i]}" == '--' ]] && return 0
    if [[ -n "$skip" ]]; then skip=''; continue; fi
    case "${COMP_WORDS[i]}" in
      -*) [[ -n "$(_longship_value "$at" "${COMP_WORDS[i]}")" ]] && skip=yes; continue ;;
    esac
    case "$at/${COMP_WORDS[i]}" in
@walk@    esac
  done
  if [[ -n "$skip" ]]; then
    value="$(_longship_value "$at" "${COMP_WORDS[COMP_CWORD - 1]}")"
    [[ "$value" == '(file)' ]] || COMPREPLY=($(compgen -W "$value" -- "$current"))
    return 0
  fi
  case "$at" in
@words@  esac
  if [[ "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
  elif [[ -n "$commands" ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$current"))
  fi
}
complete -o default -F _longship longship
)sh";

constexpr std::string_view zsh_script = R"sh(#compdef longship
# zsh completion for longship; made by `longship completion zsh`
_longship_value() {
  local found=''
  case "$1/$2" in
@values@  esac
  print -rn -- "$found"
}
_longship() {
  local at='longship' skip='' value='' i
  local -a commands options
  for ((i = 2; i < CURRENT; ++i)); do
    [[ "${words[i]}" == '--' ]] && { _files; return }
    if [[ -n "$skip" ]]; then skip=''; continue; fi
    if [[ "${words[i]}" == -* ]]; then
      [[ -n "$(_longship_value "$at" "${words[i]}")" ]] && skip=yes
      continue
    fi
    case "$at/${words[i]}" in
@walk@    esac
  done
  if [[ -n "$skip" ]]; then
    value="$(_longship_value "$at" "${words[CURRENT-1]}")"
    if [[ "$value" == '(file)' ]]; then _files; else compadd -- ${=value}; fi
    return
  fi
  case "$at" in
@words@  esac
  if [[ "${words[CURRENT]}" == -* ]]; then
    _describe 'option' options
  elif (( ${#commands} )); then
    _describe 'command' commands || _files
  else
    _files
  fi
}
if [[ "${funcstack[1]}" == '_longship' ]]; then _longship "$@"; else compdef _longship longship; fi
)sh";

void replace(std::string& text, std::string_view mark, std::string_view by) {
  text.replace(text.find(mark), mark.size(), by);
}

std::string filled(std::string_view script, const std::vector<Node>& nodes, std::string_view words) {
  std::string text(script);
  replace(text, "@values@", option_values(nodes));
  replace(text, "@walk@", walk(nodes));
  replace(text, "@words@", words);
  return text;
}

// zsh shows "word:about"; a colon in the word has to be told apart.
std::string described(const std::vector<Word>& words) {
  std::string list;
  for (const auto& word : words) {
    std::string entry;
    for (const char c : word.word) entry += c == ':' ? "\\:" : std::string(1, c);
    list += " " + in_quotes(word.about.empty() ? entry : entry + ":" + word.about);
  }
  return list;
}

}  // namespace

std::string bash_completion(const Command& app) {
  const auto nodes = nodes_of(app);
  std::string words;
  for (const auto& node : nodes)
    words += fmt::format("    {}) commands={} options={} ;;\n", in_quotes(node.path),
                         in_quotes(words_of(node.commands)), in_quotes(words_of(node.options)));
  return filled(bash_script, nodes, words);
}

std::string zsh_completion(const Command& app) {
  const auto nodes = nodes_of(app);
  std::string words;
  for (const auto& node : nodes)
    words += fmt::format("    {}) commands=({} ) options=({} ) ;;\n", in_quotes(node.path),
                         described(node.commands), described(node.options));
  return filled(zsh_script, nodes, words);
}

std::string fish_completion(const Command& app) {
  std::string lines =
      "# fish completion for longship; made by `longship completion fish`\n"
      "function __longship_at  # true if these are the commands typed so far\n"
      "  set -l typed (string match --invert -- '-*' (commandline -opc))\n"
      "  set -l wanted (string split ' ' -- $argv[1])\n"
      "  test \"$typed[1..\"(count $wanted)\"]\" = \"$wanted\"; and contains -- (count $typed) $argv[2..]\n"
      "end\n";
  for (const auto& node : nodes_of(app)) {
    const auto depth = split(node.path, ' ').size();
    const auto here = fmt::format("-n '__longship_at \"{}\" {}'", node.path, depth);
    const auto below = fmt::format("-n '__longship_at \"{}\" (seq {} 99)'", node.path, depth);
    for (const auto& command : node.commands)
      lines += fmt::format("complete -c longship {} -f -a {} -d {}\n", here, in_quotes(command.word),
                           in_quotes(command.about));
    for (const auto& option : node.options) {
      const bool is_long = option.word.starts_with("--");
      lines += fmt::format("complete -c longship {} {} {} -d {}", below, is_long ? "-l" : "-s",
                           option.word.substr(is_long ? 2 : 1), in_quotes(option.about));
      if (option.takes_value)
        lines +=
            option.values.empty() ? " -r" : fmt::format(" -x -a {}", in_quotes(join(option.values, " ")));
      lines += "\n";
    }
  }
  return lines;
}

void add_completion(Command& app, Context&) {
  auto& command = app.command("completion", "Let your shell complete the words of longship");
  const auto shell = std::make_shared<std::string>();
  command.argument("SHELL", *shell, "bash, zsh or fish", {.choices = {"bash", "zsh", "fish"}});
  command.footer =
      "How to install it, once:\n"
      "  bash  longship completion bash > ~/.local/share/bash-completion/completions/longship\n"
      "  zsh   longship completion zsh > ~/.zfunc/_longship     with `fpath+=~/.zfunc` before compinit in "
      "~/.zshrc\n"
      "  fish  longship completion fish > ~/.config/fish/completions/longship.fish\n\n" +
      examples("  source <(longship completion bash)                    for this shell only\n");
  command.action = [shell, &app] {
    const auto text = *shell == "bash"  ? bash_completion(app)
                      : *shell == "zsh" ? zsh_completion(app)
                                        : fish_completion(app);
    fmt::print("{}", text);
  };
}

}  // namespace longship::cli
