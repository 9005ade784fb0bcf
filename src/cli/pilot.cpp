// SPDX-License-Identifier: Apache-2.0
// longship pilot DIR: what runs in an allocation; the agent's batch script starts it.
#include <cstdlib>
#include <memory>

#include "command.h"
#include "installation.h"
#include "pilot/loop.h"

namespace longship::cli {

void add_pilot(Command& app, Context&) {
  auto options = std::make_shared<pilot::PilotOptions>();
  auto& command = app.command("pilot", "Carry out the attempts that an agent puts into a spool");
  command.argument("directory", options->directory, "The pilot's own: SPOOL/pilots/PILOT", {.value = "DIR"});
  command.flag("--pretend", options->pretend, "",
               {.hidden = true});  // hidden: for measuring all but the jobs
  command.footer = examples("  longship pilot ~/.longship/spool/pilots/p0123456789ab\n");
  command.action = [options] {
    const char* pretends = std::getenv("LONGSHIP_PILOT_PRETENDS");
    if (pretends != nullptr && std::string_view(pretends) == "1") options->pretend = true;
    options->installation = {in_the_box(), {node_program().string(), "launch", "--node-helper"}};
    pilot::serve(*options);
  };
}

}  // namespace longship::cli
