// SPDX-License-Identifier: Apache-2.0
// One file per command: add_NAME() declares its words to CLI11 and hangs the work on them. No logic here: a
// command turns words into a call of a room, and the answer into words. Errors are thrown; run_app() prints
// them and chooses the exit code: 0 done, 1 failed, 2 wrong use, 3 cannot be done here.
#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace longship::cli {

struct Context {
  bool json = false;  // --json: results on stdout as JSON, for scripts
  int exit_code = 0;  // a command that ran another program hands its code on
  std::string version = {};
};

// In the small static program, which starts in a millisecond.
void add_box(CLI::App& app, Context& context);
void add_launch(CLI::App& app, Context& context);

// In the other one, which has every library.
void add_check(CLI::App& app, Context& context);
void add_completion(CLI::App& app, Context& context);
void add_doctor(CLI::App& app, Context& context);
void add_image(CLI::App& app, Context& context);
void add_pilot(CLI::App& app, Context& context);
void add_report(CLI::App& app, Context& context);
void add_run(CLI::App& app, Context& context);

// The same through the hub.
void add_agent(CLI::App& app, Context& context);
void add_change(CLI::App& app, Context& context);  // cancel, hold, release, retry
void add_hub(CLI::App& app, Context& context);
void add_jobs(CLI::App& app, Context& context);
void add_logs(CLI::App& app, Context& context);
void add_outputs(CLI::App& app, Context& context);
void add_show_job(CLI::App& app, Context& context);
void add_site(CLI::App& app, Context& context);
void add_submit(CLI::App& app, Context& context);
void add_token(CLI::App& app, Context& context);
void add_up(CLI::App& app, Context& context);  // and down
void add_why(CLI::App& app, Context& context);

// "Examples:\n  longship box …" for --help; ready for CLI::App::footer().
[[nodiscard]] std::string examples(const std::string& lines);

// The program and its arguments that follow a command's own options, for commands with prefix_command(); a
// "--" between the two is left out.
[[nodiscard]] std::vector<std::string> program_of(const CLI::App& command);

// --json, -v and -q, for this command and those below it.
void add_global_options(CLI::App& app, Context& context);

// Gives every command the global options, parses, runs, prints what went wrong.
int run_app(CLI::App& app, Context& context, int count, char** words);

}  // namespace longship::cli
