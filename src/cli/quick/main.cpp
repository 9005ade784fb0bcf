// SPDX-License-Identifier: Apache-2.0
// bin/longship, what people type. It starts boxes that take neither a library nor another process of ours
// (box/quick.h) itself, and hands everything else over to one of the two other programs.
//
// It is compiled with a C library that does little before main(): on virtual machines, where each CPUID
// instruction is a trip to the hypervisor, glibc's beginning alone takes half as long as a box does.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "box/quick.h"
#include "cli/box_words.h"
#include "cli/command.h"
#include "cli/installation.h"
#include "cli/quick_parse.h"

namespace longship::cli {
namespace {

std::string_view command_in(const std::vector<std::string>& words) {
  for (const auto& word : words)
    if (!word.starts_with("-")) return word;
  return {};
}

[[noreturn]] void become(const std::string& program, char** words) {
  ::execv(program.c_str(), words);
  throw Error::from_errno(errno, "cannot run {}, a part of this installation", program);
}

// A package carries its own C library, so that it runs where the system's is older.
[[noreturn]] void become_large(char** words) {
  const auto program = large_program().string();
  const auto loader = (prefix() / "lib" / "bundled" / "ld.so").string();
  if (::access(loader.c_str(), X_OK) != 0) become(program, words);
  const auto libraries = (prefix() / "lib" / "bundled").string();
  std::vector<std::string> start = {loader, "--library-path", libraries, "--argv0", words[0], program};
  std::vector<char*> arguments;
  for (auto& word : start) arguments.push_back(word.data());
  for (char** word = words + 1; *word != nullptr; ++word) arguments.push_back(*word);
  arguments.push_back(nullptr);
  become(loader, arguments.data());
}

// What more than a box takes: libraries of the host, a centre's engine.
bool asks_for_more(const BoxWords& words) {
  return words.mpi != "image" || !words.gpus.empty() || !words.entered.empty() ||
         std::getenv("LONGSHIP_ENGINE") != nullptr;
}

// Returns if it takes more than this program has.
void start_box(const std::vector<std::string>& typed) {
  Command app("longship", "");
  Context context;
  BoxWords words;
  auto& command = declare_box(app, words);
  command.action_on_rest = [](const std::vector<std::string>&) {};
  add_global_options(app, context);
  try {
    const auto meaning = quick_parse(app, typed);
    if (!meaning || !understand_box(command, meaning->rest, words, quick_parse)) return;
  } catch (const WrongWords&) {
    return;
  }
  if (asks_for_more(words)) return;
  const ChosenImage image = choose_image(words.image);
  const auto start = command_of(words, image.config);
  const auto environment =
      box::boxed_environment(image.config.environment, current_environment(), chosen_variables(words));
  box::Spec spec = spec_of(words, image);
  if (!start.empty()) spec.command = start.front();
  if (box::enter_quickly(spec, node_program())) box::execute(start, environment);
}

}  // namespace
}  // namespace longship::cli

int main(int count, char** words) {
  using namespace longship;
  try {
    const std::vector<std::string> typed(words + (count > 0 ? 1 : 0), words + count);
    const auto command = cli::command_in(typed);
    if (command == "box") cli::start_box(typed);
    if (command == "box" || command == "launch") cli::become(cli::node_program(), words);
    cli::become_large(words);
  } catch (const Error& error) {
    complain(error.what());
    return static_cast<int>(error.failure());
  } catch (const std::exception& error) {
    complain(Error::of(error).what());
    return 1;
  }
}
