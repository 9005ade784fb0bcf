// SPDX-License-Identifier: Apache-2.0
// One file per command: add_NAME() declares its words and hangs the work on them. No logic here: a command
// turns words into a call of a room, and the answer into words. Errors are thrown; run_app() prints them and
// chooses the exit code: 0 done, 1 failed, 2 wrong use, 3 cannot be done here.
#pragma once
#include <string>

#include "words.h"

namespace longship::cli {

struct Context {
  bool json = false;  // --json: results on stdout as JSON, for scripts
  int exit_code = 0;  // a command that ran another program hands its code on
  std::string version = {};
};

// In the static program for compute nodes.
void add_box(Command& app, Context& context);
void add_launch(Command& app, Context& context);

// In the large one, which has every library.
void add_check(Command& app, Context& context);
void add_completion(Command& app, Context& context);
void add_doctor(Command& app, Context& context);
void add_image(Command& app, Context& context);
void add_pilot(Command& app, Context& context);
void add_report(Command& app, Context& context);
void add_run(Command& app, Context& context);

// The same through the hub.
void add_agent(Command& app, Context& context);
void add_change(Command& app, Context& context);  // cancel, hold, release, retry
void add_hub(Command& app, Context& context);
void add_jobs(Command& app, Context& context);
void add_logs(Command& app, Context& context);
void add_outputs(Command& app, Context& context);
void add_show_job(Command& app, Context& context);
void add_site(Command& app, Context& context);
void add_study(Command& app, Context& context);
void add_submit(Command& app, Context& context);
void add_token(Command& app, Context& context);
void add_up(Command& app, Context& context);  // and down
void add_why(Command& app, Context& context);

// --json, -v and -q, for this command and those below it.
void add_global_options(Command& app, Context& context);

// Gives every command the global options, parses, runs, prints what went wrong.
int run_app(Command& app, Context& context, int count, char** typed);

}  // namespace longship::cli
