// SPDX-License-Identifier: Apache-2.0
// longship study: hyper-parameter search.
#include "study_commands.h"

namespace longship::cli {

void add_study(Command& app, Context& context) {
  auto& command =
      app.command("study", "Hyper-parameter search: many trials of a job, the next ones chosen by the last");
  command.footer = examples(
      "  longship study run study.toml\n"
      "  longship study run study.toml --submit --parallel 100\n"
      "  longship study show study.toml\n"
      "  longship study plot study.toml --output study.html\n");
  add_study_ask(command, context);
  add_study_run(command, context);
  add_study_fetch(command, context);
  add_study_show(command, context);
  add_study_export(command, context);
}

}  // namespace longship::cli
