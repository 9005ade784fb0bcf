// SPDX-License-Identifier: Apache-2.0
// longship box: a process in an image, now.
#include "box/box.h"

#include <cstdlib>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "box/host_mpi.h"
#include "box_words.h"
#include "chosen_image.h"
#include "command.h"
#include "image_libraries.h"
#include "installation.h"
#include "launch/engine_start.h"
#include "launch/gpus.h"
#include "parse.h"

namespace longship::cli {
namespace {

void check_mpi(const std::string& word) {
  if (word != "image" && word != "host" && !word.starts_with('/'))
    throw Error(Failure::usage, "--mpi {}: not image, host or the path of a library", printable(word));
}

// Without a look at the whole environment: this is on the way of every box.
launch::Engine engine_here() {
  const char* name = std::getenv("LONGSHIP_ENGINE");
  return name == nullptr ? launch::Engine::own : launch::engine_of_environment({{"LONGSHIP_ENGINE", name}});
}

void run(const BoxWords& words) {
  if (!words.entered.empty()) launch::execute_entered(words.entered, words.command);
  check_mpi(words.mpi);
  const ChosenImage image = choose_image(words.image);
  box::Spec spec = spec_of(words, image);
  Environment chosen = chosen_variables(words);
  if (words.mpi != "image")
    box::let_in_host_mpi(words.mpi, facts_for_libraries(image), image.config.environment, spec, chosen);
  const auto command = command_of(words, image.config);
  const auto engine = engine_here();
  if (engine != launch::Engine::own)
    launch::start_program_in_engine({spec, image.config.environment, image.facts.libc, engine}, chosen,
                                    !words.gpus.empty() && words.gpus != "none", node_program(), command);
  if (!words.gpus.empty())
    launch::let_in_gpus(words.gpus, facts_for_libraries(image), image.config.environment, spec, chosen);
  const auto environment = box::boxed_environment(image.config.environment, current_environment(), chosen);
  if (!command.empty()) spec.command = command.front();
  box::enter(spec);
  box::execute(command, environment);
}

}  // namespace

void add_box(Command& app, Context&) {
  const auto words = std::make_shared<BoxWords>();
  auto& command = declare_box(app, *words);
  command.action_on_rest = [words, &command](std::vector<std::string> rest) {
    if (understand_box(command, std::move(rest), *words, parse)) run(*words);
  };
}

}  // namespace longship::cli
