// SPDX-License-Identifier: Apache-2.0
// What all commands share: the printing of errors, exit codes.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "command.h"
#include "parse.h"

namespace longship::cli {
namespace {

// What was typed where the name of a command belongs; empty if nothing was.
std::string_view word_for_command(const Command& command, const std::vector<std::string>& words) {
  std::vector<std::string> chosen;
  for (const auto* at = &command; at != nullptr; at = at->above) chosen.push_back(at->name);
  for (const auto& word : words)
    if (!word.starts_with('-') && std::find(chosen.begin(), chosen.end(), word) == chosen.end()) return word;
  return {};
}

// Whoever read our output has seen enough, as head does: no error to tell anybody.
struct NobodyReads {};

int explain(const WrongWords& wrong, const std::vector<std::string>& words) {
  const Command& command = wrong.command();
  std::vector<std::string> names;
  for (const auto& below : command.commands) names.push_back(below.name);
  const auto word = names.empty() ? std::string_view() : word_for_command(command, words);
  if (word.empty())
    complain(wrong.what());
  else
    complain(fmt::format("there is no command \"{}\"{}", printable(word), suggestion(word, names)));
  note("{} --help shows how it is used", full_name(command));
  return static_cast<int>(wrong.failure());
}

void run(const Meaning& meaning) {
  const Command& command = *meaning.command;
  if (command.action_on_rest)
    command.action_on_rest(meaning.rest);
  else
    command.action();
}

// What was printed has to have arrived: a script that writes to a full disk must not take half of it for all.
void finish_output() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  if (errno == EPIPE) throw NobodyReads();
  throw errno == 0 ? Error("not all of the output could be written")
                   : Error::from_errno(errno, "not all of the output could be written");
}

}  // namespace

int run_app(Command& app, Context& context, int count, char** typed) {
  add_global_options(app, context);
  const std::vector<std::string> words(typed + 1, typed + count);
  try {
    if (const auto meaning = parse(app, words)) run(*meaning);
    finish_output();
    return context.exit_code;
  } catch (const NobodyReads&) {
    return 128 + SIGPIPE;
  } catch (const WrongWords& wrong) {
    return explain(wrong, words);
  } catch (const Error& error) {
    complain(error.what());
    return static_cast<int>(error.failure());
  } catch (const std::exception& error) {
    complain(Error::of(error).what());
  }
  return static_cast<int>(Failure::failed);
}

}  // namespace longship::cli
