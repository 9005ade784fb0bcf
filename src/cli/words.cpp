// SPDX-License-Identifier: Apache-2.0
#include "words.h"

#include <utility>

namespace longship::cli {

bool Option::takes_value() const {
  return std::holds_alternative<std::string*>(target) || std::holds_alternative<int*>(target) ||
         std::holds_alternative<std::filesystem::path*>(target) || std::holds_alternative<Several*>(target);
}

Command::Command(std::string its_name, std::string what_it_does)
    : name(std::move(its_name)), about(std::move(what_it_does)) {
  options.push_back({"-h,--help", ShowHelp{}, "Print this help message and exit"});
}

Command& Command::command(std::string its_name, std::string what_it_does) {
  auto& below = commands.emplace_back(std::move(its_name), std::move(what_it_does));
  below.above = this;
  return below;
}

void Command::argument(std::string placeholder, Variable into, std::string what, Rules rules) {
  rules.required = true;
  option(std::move(placeholder), std::move(into), std::move(what), std::move(rules));
}

void Command::option(std::string names, Variable into, std::string what, Rules rules) {
  options.push_back({std::move(names), std::move(into.target), std::move(what), std::move(rules)});
}

void Command::flag(std::string names, bool& into, std::string what, Rules rules) {
  options.push_back({std::move(names), &into, std::move(what), std::move(rules)});
}

void Command::flag(std::string names, std::function<void()> effect, std::string what) {
  options.push_back({std::move(names), std::move(effect), std::move(what)});
}

void Command::version(std::string text) {
  options.push_back(
      {"--version", ShowVersion{std::move(text)}, "Display program version information and exit"});
}

std::string full_name(const Command& command) {
  return command.above == nullptr ? command.name : full_name(*command.above) + " " + command.name;
}

std::string examples(const std::string& lines) {
  return "Examples:\n" + lines;
}

}  // namespace longship::cli
