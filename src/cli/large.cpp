// SPDX-License-Identifier: Apache-2.0
// libexec/longship/longship: all commands.

#include "command.h"

int main(int count, char** words) {
  using namespace longship::cli;
  Command app("longship",
              "Takes a deep-learning job from a laptop to a supercomputer, and it just works there.");
  app.version("longship " LONGSHIP_VERSION);
  app.footer = examples(
      "  longship run examples/digits/job.toml\n"
      "  longship box debian-torch -- python3 -c 'import torch'\n"
      "  longship launch -n 4 python3 train.py\n");
  Context context;
  context.version = LONGSHIP_VERSION;
  add_run(app, context);
  add_submit(app, context);
  add_jobs(app, context);
  add_show_job(app, context);
  add_logs(app, context);
  add_outputs(app, context);
  add_change(app, context);
  add_why(app, context);
  add_launch(app, context);
  add_report(app, context);
  add_study(app, context);
  add_image(app, context);
  add_check(app, context);
  add_box(app, context);
  add_up(app, context);
  add_hub(app, context);
  add_agent(app, context);
  add_token(app, context);
  add_site(app, context);
  add_doctor(app, context);
  add_pilot(app, context);
  add_completion(app, context);
  return run_app(app, context, count, words);
}
