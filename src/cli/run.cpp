// SPDX-License-Identifier: Apache-2.0
// longship run JOB: the job here and now, in the foreground.
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/failpoint.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "command.h"
#include "formats/units.h"
#include "installation.h"
#include "launch/launch.h"
#include "launch/signals.h"
#include "pilot/pilot.h"
#include "terminal.h"
#include "trace/report.h"

namespace longship::cli {
namespace {

namespace fs = std::filesystem;

struct Words {
  std::string job;
  std::vector<std::string> overrides;
  std::string into;
  bool no_prefix = false;
};

fs::path runs_directory(const Words& words) {
  if (!words.into.empty()) return fs::absolute(words.into);
  const fs::path file = fs::absolute(words.job);
  return (fs::is_directory(file) ? file : file.parent_path()) / "runs";
}

pilot::Installation installation() {
  return {in_the_box(), {node_program().string(), "launch", "--node-helper"}};
}

// The time report and the live line are extras: a script that does not import longship has neither.
std::optional<trace::Report> report_of(const pilot::Attempt& attempt) {
  try {
    return trace::analyse(trace::load(attempt.directory()));
  } catch (const Error& error) {
    explain("no time report: {}", error.what());
    return {};
  }
}

void line(std::string_view what, const std::string& words) {
  std::printf("  %-9.*s%s\n", static_cast<int>(what.size()), what.data(), words.c_str());
}

void print_for_people(const pilot::Attempt& attempt, const pilot::Outcome& outcome) {
  const auto seconds = std::chrono::round<std::chrono::seconds>(outcome.duration);
  line("job", fmt::format("{} {} after {}", attempt.name(), pilot::name_of(outcome.state),
                          formats::human_duration(seconds)));
  if (const auto report = report_of(attempt)) {
    line("report", trace::summary_line(*report));
    for (const auto& sentence : report->advice) line("advice", sentence);
  }
  for (const auto& output : outcome.kept.outputs)
    line("output", fmt::format("{}  {}", from_here(attempt.directory() / output.name),
                               formats::human_bytes(output.size)));
}

void print_as_json(const pilot::Attempt& attempt) {
  const auto result = formats::parse_json(read_file(attempt.result()), attempt.result().string());
  formats::Table table = result.table();
  table.set("directory", attempt.directory().string());
  if (const auto report = report_of(attempt)) table.set("report", trace::to_json(*report));
  std::printf("%s\n", formats::dump_json(table).c_str());
}

void tell_failure(const pilot::Outcome& outcome) {
  if (outcome.ranks.cause != launch::Cause::finished && outcome.ranks.cause != launch::Cause::stopped)
    launch::tell(outcome.ranks);
  else if (outcome.state != pilot::State::finished)
    complain(outcome.reason);
}

void run(const Words& words, Context& context) {
  const job::Job job = job::load(words.job, words.overrides);
  for (const auto& sentence : job::not_done_yet(job)) warn("{}", sentence);
  const pilot::Ground ground = pilot::look_at_the_ground(job);
  launch::Interruptions interruptions;
  pilot::Attempt attempt(runs_directory(words), job.name);
  pilot::fill_spool(attempt, job);
  failpoint("run.bundled");
  interruptions.check();

  note("{}: {} on {}{}", attempt.name(), counted(ground.nodes * job.needs.ranks_per_node, "rank"),
       counted(ground.nodes, "node"), job.image.empty() ? ", without an image" : ", in " + job.image);
  LiveLine live;
  launch::Screen screen({.prefix = !words.no_prefix,
                         .colour = terminal(context.json ? STDERR_FILENO : STDOUT_FILENO).colour,
                         .all_to_stderr = context.json,
                         .before = [&] { live.clear(); },
                         .after = [&] { live.redraw(); }});
  pilot::Watcher watcher{interruptions, screen, [&](const record::LiveMetrics& metrics) {
                           live.show({.what = "training",
                                      .done = metrics.step,
                                      .total = metrics.steps,
                                      .counted = steps_words(metrics.step, metrics.steps),
                                      .details = metrics_words(metrics.values)});
                         }};
  watcher.passed = [](std::string_view step) { failpoint(fmt::format("run.{}", step)); };
  const pilot::Outcome outcome = pilot::carry_out(attempt, ground, installation(), watcher);
  live.finish();
  tell_failure(outcome);
  if (context.json)
    print_as_json(attempt);
  else
    print_for_people(attempt, outcome);
  context.exit_code = outcome.exit_code;
}

}  // namespace

void add_run(Command& app, Context& context) {
  auto words = std::make_shared<Words>();
  auto& command = app.command("run", "Run a job here and now; in a Slurm allocation, on all of its nodes");
  command.argument("FILE", words->job, "The job file, or a directory with a job.toml");
  command.option("--set", words->overrides, "Change a value for this run: needs.nodes=2",
                 {.value = "KEY=VALUE"});
  command.option("--into", words->into, "Where runs are kept (runs/ beside the job file)", {.value = "DIR"});
  command.flag("--no-prefix", words->no_prefix, "Do not mark lines of output with their rank");
  command.footer = examples(
      "  longship run examples/digits/job.toml\n"
      "  longship run job.toml --set needs.ranks_per_node=4 --set 'command=[\"python3\",\"t.py\"]'\n"
      "  salloc -N 2 longship run job.toml\n");
  command.action = [words, &context] {
    try {
      run(*words, context);
    } catch (const launch::Interrupted& interrupted) {  // before the ranks started: nothing was kept
      complain(interrupted.what());
      context.exit_code = interrupted.exit_code();
    }
  };
}

}  // namespace longship::cli
