// SPDX-License-Identifier: Apache-2.0
// The words that a command understands, declared once:
//
//   auto& command = app.command("logs", "What a job's ranks wrote");
//   command.argument("JOB", words->job, "digits-7");
//   command.option("--rank", words->rank, "Of this rank (0)", {.range = Range{0, 9'999'999}});
//   command.flag("--all", words->all, "Of all ranks", {.excludes = "--rank"});
//   command.footer = examples("  longship logs digits-7 --rank 3\n");
//   command.action = [words] { show(*words); };
//
// This is data only. parse.h understands by it what a user typed, completion.h tells it to a shell.
#pragma once
#include <filesystem>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace longship::cli {

// Where what was typed goes: a variable that lives until the command ran.
struct ShowHelp {};
struct ShowVersion {
  std::string text;
};
using Several = std::vector<std::string>;  // what is there already stays, what is typed is added
using Target = std::variant<std::string*, std::filesystem::path*, int*, Several*,  // a value
                            bool*, std::function<void()>, ShowHelp, ShowVersion>;  // none: a flag

// A variable as an option takes it, so that declarations need no "&".
struct Variable {
  Variable(std::string& text) : target(&text) {}
  Variable(std::filesystem::path& path) : target(&path) {}
  Variable(int& number) : target(&number) {}
  Variable(Several& texts) : target(&texts) {}
  Target target;
};

struct Range {
  int least, most;
};

struct Rules {
  std::string value = {};  // what --help calls the value: "URL"
  bool required = false;
  std::optional<Range> range = {};
  std::vector<std::string> choices = {};  // nothing else is accepted
  std::string excludes = {};              // "--rank": not together with it
  std::vector<std::string> needs = {};    // "--image": only together with it
  char separator = 0;                     // ',': "a,b" are two values
  bool one_each = false;                  // several as "--env A --env B", never "--env A B"
  bool show_default = false;              // --help tells what it is without the option
  bool hidden = false;                    // from --help
};

struct Option {
  std::string names;  // "-t,--tag"; "JOB" for an argument, which is known by its place
  Target target;
  std::string about;
  Rules rules = {};

  [[nodiscard]] bool takes_value() const;
};

struct Command {
  Command(std::string its_name, std::string what_it_does);
  Command(const Command&) = delete;  // those below point to it

  // One below it: app.command("image", …).command("ls", …) is "longship image ls".
  Command& command(std::string its_name, std::string what_it_does);
  // A word known by its place, which must be there.
  void argument(std::string placeholder, Variable into, std::string what, Rules rules = {});
  void option(std::string names, Variable into, std::string what, Rules rules = {});
  void flag(std::string names, bool& into, std::string what, Rules rules = {});
  void flag(std::string names, std::function<void()> effect, std::string what);
  void version(std::string text);  // --version prints it

  std::string name, about;
  std::string footer = {};  // of --help; examples() begins it
  // What it does. None: a command below it has to be named.
  std::function<void()> action = {};
  // Instead, if the first word that is no option and all after it are the command's own to understand, "--"
  // included, as in `longship box IMAGE PROGRAM…`.
  std::function<void(std::vector<std::string> rest)> action_on_rest = {};

  const Command* above = nullptr;
  std::list<Command> commands = {};  // lists, as references to what is in them stay valid
  std::list<Option> options = {};
};

// "longship image ls".
[[nodiscard]] std::string full_name(const Command& command);

// "Examples:\n  longship box …" for a footer.
[[nodiscard]] std::string examples(const std::string& lines);

}  // namespace longship::cli
