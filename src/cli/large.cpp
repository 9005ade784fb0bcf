// SPDX-License-Identifier: Apache-2.0
// libexec/longship/longship: all commands.
#include <CLI/CLI.hpp>

#include "command.h"

int main(int count, char** words) {
  using namespace longship::cli;
  CLI::App app("Takes a deep-learning job from a laptop to a supercomputer, and it just works there.",
               "longship");
  app.set_version_flag("--version", "longship " LONGSHIP_VERSION);
  app.footer(
      examples("  longship run examples/digits/job.toml\n"
               "  longship box debian-torch -- python3 -c 'import torch'\n"
               "  longship launch -n 4 python3 train.py\n"));
  Context context;
  add_run(app, context);
  add_launch(app, context);
  add_report(app, context);
  add_image(app, context);
  add_box(app, context);
  add_doctor(app, context);
  add_completion(app, context);
  return run_app(app, context, count, words);
}
