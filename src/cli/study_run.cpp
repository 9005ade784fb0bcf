// SPDX-License-Identifier: Apache-2.0
// longship study run: carries the trials out, here or through the hub, until the budget is used up.
#include <sys/file.h>

#include <cstdio>
#include <memory>
#include <random>

#include "base/error.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "hub_events.h"
#include "journal_at_hub.h"
#include "study/pareto.h"
#include "study_commands.h"
#include "study_here.h"
#include "study_hub.h"
#include "study_open.h"
#include "sweep/describe.h"
#include "terminal.h"

namespace longship::cli {
namespace {

using namespace std::chrono_literals;
constexpr auto longest_silence = 15min;  // of a hub

struct Words {
  StudyWords study;
  std::string hub;
  int parallel = 0, trials = 0;
  bool submit = false;
};

// Two that carry out the same trials would do each twice.
Fd only_one(const OpenStudy& open) {
  const auto path = open.directory / "run.lock";
  Fd lock = open_file(path, O_RDWR | O_CREAT);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    throw Error("another `longship study run` carries out the trials of {}", open.directory.string());
  return lock;
}

std::string identity_of(study::Study& study) {
  const auto known = sweep::remark_text(study.history().attributes(), sweep::remark::identity);
  if (!known.empty()) return known;
  std::random_device random;
  const auto fresh = fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
  study.note({true, sweep::remark::identity, formats::json_text(fresh)});
  return fresh;
}

// Tells of each trial once when it ends, and keeps a line with where the whole stands.
class Report {
 public:
  Report(const study::Study& study, const sweep::StudyFile& file) : study_(study), file_(file) {
    cursor_ = study.history().changes_from(0).size();
  }

  void show(const sweep::Engine& engine) {
    const auto& history = study_.history();
    const auto changes = history.changes_from(cursor_);
    cursor_ += changes.size();
    for (const auto index : changes) tell(history.trials()[index]);
    const auto done = engine.counts().all(), all = engine.expected();
    const auto counted = all > 0 ? fmt::format("{}/{} trials", done, all) : fmt::format("{} trials", done);
    live_.show({.what = "study", .done = done, .total = all, .counted = counted, .details = details(engine)});
  }
  void finish() { live_.finish(); }

 private:
  void tell(const study::Trial& trial) {
    if (!is_finished(trial.state) || !told_.insert(trial.number).second) return;
    if (sweep::find_remark(trial.attributes, sweep::remark::rejected) != nullptr) return;
    const auto reason = sweep::remark_text(trial.attributes, sweep::remark::reason);
    note("trial {} {}{}  {}", trial.number, study::name_of(trial.state),
         trial.values.empty() ? (reason.empty() ? "" : ": " + printable(reason))
                              : " " + objectives_words(trial.values),
         values_words(sweep::values_of(study_.history(), trial)));
  }
  [[nodiscard]] std::string details(const sweep::Engine& engine) const {
    auto words = fmt::format("{} running", engine.running());
    if (study_.history().objectives() > 1) return words;
    const auto best = study::best_trials(study_.history());
    if (!best.empty())
      words += fmt::format("  best {} {}", file_.objectives.front().metric,
                           objectives_words(study_.history().trial(best.front()).values));
    return words;
  }

  const study::Study& study_;
  const sweep::StudyFile& file_;
  std::size_t cursor_ = 0;
  std::set<study::TrialNumber> told_;
  LiveLine live_;
};

void run_here(OpenStudy& open, launch::Interruptions& interruptions) {
  TrialsHere runner(*open.file, open.directory / "trials", interruptions);
  const int nodes = open.file->job.empty() ? 1 : job::load(open.file->job).needs.nodes;
  sweep::Engine engine(*open.study, *open.file, nodes, time_of_day());
  for (const auto& remark : engine.remarks()) note("{}", remark);
  sweep::Loop loop(engine, runner);
  Report report(*open.study, *open.file);
  while (!engine.is_done()) {
    loop.turn(time_of_day, engine.running() > 0 ? 200ms : 0ms);
    report.show(engine);
  }
  report.finish();
}

// The hub's page of the study: sent again while it changes, but never so often that it costs more than it is
// worth.
class Shown {
 public:
  Shown(HubClient& hub, const OpenStudy& open) : hub_(hub), open_(open) {}

  void show(bool at_last) {
    const auto changes = open_.study->history().changes_from(0).size();
    const auto begun = std::chrono::steady_clock::now();
    if (given_up_ || changes == shown_ || (!at_last && begun < next_)) return;
    try {
      hub_.put("/v1/studies/" + open_.file->name, sweep::study_json(*open_.study, &*open_.file));
      shown_ = changes;
    } catch (const net::Unreachable&) {  // the next time, then
    } catch (const Error& error) {
      warn("the hub does not show this study: {}", error.what());
      given_up_ = true;
    }
    const auto end = std::chrono::steady_clock::now();
    next_ = end + std::max<std::chrono::nanoseconds>(3s, 20 * (end - begun));
  }

 private:
  HubClient& hub_;
  const OpenStudy& open_;
  std::size_t shown_ = 0;
  bool given_up_ = false;
  std::chrono::steady_clock::time_point next_{};
};

void run_at_hub(OpenStudy& open, const std::string& url, launch::Interruptions& interruptions) {
  HubClient hub(url);
  const auto identity = identity_of(*open.study);
  JournalAtHub journal(hub, open.directory, open.file->name);
  TrialsAtHub runner(hub, *open.file, identity, [&] { journal.send(); });
  journal.take_over();
  sweep::Engine engine(*open.study, *open.file, runner.nodes(), time_of_day());
  for (const auto& remark : engine.remarks()) note("{}", remark);
  sweep::Loop loop(engine, runner);
  Report report(*open.study, *open.file);
  Shown shown(hub, open);
  auto heard = std::chrono::steady_clock::now();
  const auto look = [&]() -> std::optional<std::chrono::milliseconds> {
    interruptions.check();
    try {
      loop.turn(time_of_day, 0ms);
      journal.send();
      heard = std::chrono::steady_clock::now();
    } catch (const net::Unreachable&) {  // jobs go on without it, and so does the study when it is back
      if (std::chrono::steady_clock::now() - heard > longest_silence) throw;
      return 1000ms;
    }
    report.show(engine);
    shown.show(engine.is_done());
    if (engine.is_done()) return {};
    return 2000ms;
  };
  watch(hub, interruptions, {[&](std::string_view job) { return runner.concerns(job); }, look});
  report.finish();
}

void print_end(const OpenStudy& open, const Context& context) {
  const auto summary = sweep::summary_json(*open.study, &*open.file);
  if (context.json) {
    std::printf("%s\n", formats::dump_json(summary).c_str());
    return;
  }
  for (const auto number : study::best_trials(open.study->history())) {
    const auto& trial = open.study->history().trial(number);
    std::printf("best: trial %llu  %s  %s\n", static_cast<unsigned long long>(number),
                objectives_words(trial.values).c_str(),
                values_words(sweep::values_of(open.study->history(), trial)).c_str());
  }
}

void run(const Words& words, Context& context) {
  auto open = begin_study(words.study);
  if (!open.file) throw Error(Failure::usage, "the study in {} has no file to run", open.directory.string());
  if (words.parallel > 0) open.file->parallel = words.parallel;
  if (words.trials > 0) open.file->budget.trials = static_cast<std::uint64_t>(words.trials);
  const Fd lock = only_one(open);
  launch::Interruptions interruptions;
  try {
    if (words.submit || !words.hub.empty())
      run_at_hub(open, words.hub, interruptions);
    else
      run_here(open, interruptions);
  } catch (const launch::Interrupted& interrupted) {
    note("the study can go on: longship study run {}{}", as_typed(std::vector{words.study.study}),
         words.submit ? " --submit" : "");
    context.exit_code = interrupted.exit_code();
    return;
  }
  print_end(open, context);
  if (open.study->history().finished_count() == 0) {
    complain(fmt::format("no trial came to an end: longship study show {} tells why", words.study.study));
    context.exit_code = static_cast<int>(Failure::failed);
  }
}

}  // namespace

void add_study_run(Command& study, Context& context) {
  auto words = std::make_shared<Words>();
  auto& command =
      study.command("run", "Carry out trials until the budget is used up; goes on where it was cut off");
  add_study_words(command, words->study);
  command.option("--parallel", words->parallel, "So many trials at once (as the file says)",
                 {.range = Range{1, 100'000}});
  command.option("--trials", words->trials, "So many in all (as the file says)",
                 {.range = Range{1, 100'000'000}});
  command.flag("--submit", words->submit, "As jobs through the hub, instead of here");
  command.option("--hub", words->hub,
                 "Through the hub at this address (LONGSHIP_HUB, or the one started here)", {.value = "URL"});
  command.footer = examples(
      "  longship study run study.toml\n"
      "  longship study run examples/sweep/tpe.toml --submit --parallel 8\n");
  command.action = [words, &context] { run(*words, context); };
}

}  // namespace longship::cli
