// SPDX-License-Identifier: Apache-2.0
#include "parse.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/text.h"

namespace longship::cli {
namespace {

// Tells CLI11 of an option, by the kind of its target.
struct Declare {
  CLI::App& app;
  const Option& option;

  template <class Value>
  CLI::Option* operator()(Value* into) const {
    return app.add_option(option.names, *into, option.about);
  }
  CLI::Option* operator()(Several* into) const {
    const auto add = [into](const Several& more) { into->insert(into->end(), more.begin(), more.end()); };
    return app.add_option_function<Several>(option.names, add, option.about);
  }
  CLI::Option* operator()(bool* into) const { return app.add_flag(option.names, *into, option.about); }
  CLI::Option* operator()(const std::function<void()>& effect) const {
    return app.add_flag_callback(option.names, effect, option.about);
  }
  CLI::Option* operator()(const ShowHelp&) const { return app.set_help_flag(option.names, option.about); }
  CLI::Option* operator()(const ShowVersion& version) const {
    return app.set_version_flag(option.names, version.text, option.about);
  }
};

void apply(const Rules& rules, CLI::Option& option) {
  if (!rules.value.empty()) option.type_name(rules.value);
  if (rules.required) option.required();
  if (rules.range) option.check(CLI::Range(rules.range->least, rules.range->most));
  if (!rules.choices.empty()) option.check(CLI::IsMember(rules.choices));
  if (rules.separator != 0) option.delimiter(rules.separator);
  if (rules.one_each) option.allow_extra_args(false);
  if (rules.show_default) option.capture_default_str();
  if (rules.hidden) option.group("");
}

// The options of a command that no word names cannot be meant: to declare them all takes longer than a box
// does to start.
void declare(const Command& command, CLI::App& app, const std::vector<std::string>& words) {
  std::vector<std::pair<CLI::Option*, const Rules*>> declared;
  for (const auto& option : command.options) {
    auto* made = std::visit(Declare{app, option}, option.target);
    apply(option.rules, *made);
    declared.emplace_back(made, &option.rules);
  }
  for (const auto& [option, rules] : declared) {  // now that all names are known
    if (!rules->excludes.empty()) option->excludes(rules->excludes);
    for (const auto& name : rules->needs) option->needs(name);
  }
  app.footer(command.footer);
  if (command.action_on_rest) app.prefix_command();
  if (!command.commands.empty()) app.require_subcommand(1);
  for (const auto& below : command.commands) {
    auto* added = app.add_subcommand(below.name, below.about);
    if (std::find(words.begin(), words.end(), below.name) != words.end()) declare(below, *added, words);
  }
}

struct Reached {
  const Command& command;
  const CLI::App& app;
};

// The command that the words lead to, or had reached when they stopped making sense.
Reached reached(const Command& command, const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) return {command, app};
  const auto below = std::find_if(command.commands.begin(), command.commands.end(),
                                  [&](const Command& one) { return one.name == chosen.back()->get_name(); });
  return reached(*below, *chosen.back());
}

// CLI11 takes "--" for the end of a command's words and gives the rest to the command above. What starts a
// program wants it itself, so it goes through the parser in disguise.
constexpr const char* dashes = "--";
constexpr const char* disguise = "\x01--";

void replace(std::vector<std::string>& words, const char* from, const char* to) {
  std::replace(words.begin(), words.end(), std::string(from), std::string(to));
}

}  // namespace

std::optional<Meaning> parse(const Command& command, std::vector<std::string> words) {
  CLI::App app(command.about, full_name(command));
  declare(command, app, words);
  replace(words, dashes, disguise);
  std::reverse(words.begin(), words.end());  // the order in which CLI11 wants them
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw WrongWords(reached(command, app).command, printable(error.what()));
    app.exit(error);  // prints
    return {};
  }
  const auto end = reached(command, app);
  Meaning meaning{&end.command, end.app.remaining()};
  replace(meaning.rest, disguise, dashes);
  return meaning;
}

}  // namespace longship::cli
