// SPDX-License-Identifier: Apache-2.0
// longship pilot DIR: what runs in an allocation; the agent's batch script starts it.
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>

#include "command.h"
#include "installation.h"
#include "pilot/loop.h"

namespace longship::cli {

void add_pilot(CLI::App& app, Context&) {
  auto options = std::make_shared<pilot::PilotOptions>();
  auto* command = app.add_subcommand("pilot", "Carry out the attempts that an agent puts into a spool");
  command->add_option("directory", options->directory, "The pilot's own: SPOOL/pilots/PILOT")
      ->type_name("DIR")
      ->required();
  command->add_flag("--pretend", options->pretend)->group("");  // hidden: for measuring all but the jobs
  command->footer(examples("  longship pilot ~/.longship/spool/pilots/p0123456789ab\n"));
  command->callback([options] {
    const char* pretends = std::getenv("LONGSHIP_PILOT_PRETENDS");
    if (pretends != nullptr && std::string_view(pretends) == "1") options->pretend = true;
    options->installation = {in_the_box(), {small_program().string(), "launch", "--node-helper"}};
    pilot::serve(*options);
  });
}

}  // namespace longship::cli
