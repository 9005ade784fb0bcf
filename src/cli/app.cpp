// SPDX-License-Identifier: Apache-2.0
// What all commands share: global options, the printing of errors, exit codes.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "command.h"

namespace longship::cli {
namespace {

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

// The command that the words had reached when they stopped making sense.
const CLI::App& deepest(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : deepest(*chosen.back());
}

// What was typed where the name of a command belongs; empty if nothing was.
std::string_view word_for_command(const CLI::App& command, int count, char** words) {
  std::vector<std::string> chosen;
  for (const auto* at = &command; at != nullptr; at = at->get_parent()) chosen.push_back(at->get_name());
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (!word.starts_with('-') && std::find(chosen.begin(), chosen.end(), word) == chosen.end()) return word;
  }
  return {};
}

int explain_wrong_words(const CLI::App& app, const CLI::ParseError& error, int count, char** words) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
  const CLI::App& command = deepest(app);
  const auto commands = names_of_commands(command);
  const auto word = commands.empty() ? std::string_view() : word_for_command(command, count, words);
  if (word.empty())
    complain(printable(error.what()));
  else
    complain(fmt::format("there is no command \"{}\"{}", printable(word), suggestion(word, commands)));
  std::string full_name = command.get_name();
  for (const auto* at = command.get_parent(); at != nullptr; at = at->get_parent())
    full_name = at->get_name() + " " + full_name;
  note("{} --help shows how it is used", full_name);
  return static_cast<int>(Failure::usage);
}

// CLI11 takes "--" for the end of a command's words and gives the rest to the command above. What starts a
// program wants it itself, so it goes through the parser in disguise.
constexpr const char* dashes = "--";
constexpr const char* disguise = "\x01--";

std::vector<std::string> disguised(int count, char** words) {
  std::vector<std::string> result(words + 1, words + count);
  std::replace(result.begin(), result.end(), std::string(dashes), std::string(disguise));
  std::reverse(result.begin(), result.end());  // the order in which CLI11 wants them
  return result;
}

}  // namespace

void add_global_options(CLI::App& app, Context& context) {
  app.add_flag("--json", context.json, "Results as JSON on stdout, for scripts");
  app.add_flag_callback(
      "-v,--verbose", [] { set_verbosity(Verbosity::verbose); }, "Say which way is taken, and why");
  app.add_flag_callback(
      "-q,--quiet", [] { set_verbosity(Verbosity::quiet); }, "Only results and errors");
  for (auto* command : app.get_subcommands({})) add_global_options(*command, context);
}

std::vector<std::string> program_of(const CLI::App& command) {
  auto words = command.remaining();
  if (!words.empty() && words.front() == disguise) words.erase(words.begin());
  std::replace(words.begin(), words.end(), std::string(disguise), std::string(dashes));
  return words;
}

std::string examples(const std::string& lines) {
  return "Examples:\n" + lines;
}

int run_app(CLI::App& app, Context& context, int count, char** words) {
  add_global_options(app, context);
  app.require_subcommand(1);
  try {
    app.parse(disguised(count, words));
    return context.exit_code;
  } catch (const CLI::ParseError& error) {
    return explain_wrong_words(app, error, count, words);
  } catch (const Error& error) {
    complain(error.what());
    return static_cast<int>(error.failure());
  } catch (const std::bad_alloc&) {
    complain("out of memory");
  } catch (const std::exception& error) {
    complain(error.what());
  }
  return static_cast<int>(Failure::failed);
}

}  // namespace longship::cli
