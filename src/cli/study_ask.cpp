// SPDX-License-Identifier: Apache-2.0
// longship study create, ask, tell: a study whose trials somebody else carries out.
#include <charconv>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "study_commands.h"
#include "study_open.h"
#include "sweep/prepare.h"
#include "sweep/turns.h"

namespace longship::cli {
namespace {

sweep::Prepared prepared(OpenStudy& open) {
  if (!open.file)
    throw Error(Failure::usage,
                "the study in {} was made from Python and has no file: its own script asks it",
                open.directory.string());
  auto prepared = sweep::prepare(*open.study, *open.file);
  for (const auto& remark : prepared.remarks) note("{}", remark);
  return prepared;
}

void create(const StudyWords& words, const Context& context) {
  auto open = begin_study(words);
  static_cast<void>(prepared(open));
  formats::Table table;
  table.set("name", open.file->name);
  table.set("directory", open.directory.string());
  if (context.json)
    std::printf("%s\n", formats::dump_json(table).c_str());
  else
    std::printf("%s\n", open.directory.c_str());
}

formats::Table asked(OpenStudy& open, const sweep::Prepared& prepared) {
  auto drawn = sweep::draw_next(*open.study, *open.file, prepared.ids, time_of_day(), {});
  if (!drawn && open.file->population.size > 0)
    throw Error("all members of the population are at work: tell what came of one first");
  if (!drawn) throw Error("the scan is over: all its points have been given out");
  open.study->note(drawn->trial, {true, sweep::remark::asked, "true"});
  formats::Table table;
  table.set("trial", drawn->trial);
  table.set("values", std::move(drawn->values));
  if (const auto parent = sweep::parent_of(open.study->history().trial(drawn->trial)))
    table.set("parent", *parent);
  return table;
}

void ask(const StudyWords& words, int count, const Context& context) {
  auto open = begin_study(words);
  const auto ready = prepared(open);
  formats::Array trials;
  for (int i = 0; i < count; ++i) {
    trials.emplace_back(asked(open, ready));
    const auto& trial = trials.back();
    if (!context.json)
      std::printf("%lld  %s\n", static_cast<long long>(trial.find("trial")->integer()),
                  values_words(trial.find("values")->table()).c_str());
  }
  if (!context.json) return;
  formats::Table table;
  table.set("trials", std::move(trials));
  std::printf("%s\n", formats::dump_json(table).c_str());
}

struct TellWords {
  StudyWords study;
  int trial = 0;
  std::vector<std::string> values, reports;
  bool failed = false, pruned = false;
};

double number_from(const std::string& text) {
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size())
    throw Error(Failure::usage, "\"{}\" is no number", printable(text));
  return number;
}

void tell(const TellWords& words, const Context& context) {
  auto open = open_study(words.study);
  const auto number = static_cast<study::TrialNumber>(words.trial);
  for (const auto& report : words.reports) {
    const auto equals = report.find('=');
    if (equals == std::string::npos)
      throw Error(Failure::usage, "--report {}: expected STEP=VALUE", printable(report));
    open.study->report(number, static_cast<std::int64_t>(number_from(report.substr(0, equals))),
                       number_from(report.substr(equals + 1)));
  }
  std::vector<double> values;
  for (const auto& value : words.values) values.push_back(number_from(value));
  const bool over = words.failed || words.pruned || !values.empty();
  if (!over && words.reports.empty())
    throw Error(Failure::usage, "nothing is told: give --value, --report, --pruned or --failed");
  const auto state = words.failed   ? study::TrialState::failed
                     : words.pruned ? study::TrialState::pruned
                                    : study::TrialState::complete;
  if (over) open.study->tell(number, state, std::move(values), time_of_day());
  formats::Table table;
  table.set("trial", number);
  table.set("state", study::name_of(open.study->history().trial(number).state));
  if (context.json) std::printf("%s\n", formats::dump_json(table).c_str());
}

}  // namespace

void add_study_ask(Command& study, Context& context) {
  auto words = std::make_shared<StudyWords>();
  auto& created = study.command("create", "Make the study, and say where it is kept");
  add_study_words(created, *words);
  created.footer = examples("  longship study create study.toml\n");
  created.action = [words, &context] { create(*words, context); };

  struct AskWords {
    StudyWords study;
    int count = 1;
  };
  auto ask_words = std::make_shared<AskWords>();
  auto& asking = study.command("ask", "Begin a trial that you carry out yourself: its number and values");
  add_study_words(asking, ask_words->study);
  asking.option("-n,--count", ask_words->count, "So many", {.range = Range{1, 100'000}});
  asking.footer = examples("  longship study ask study.toml\n  longship study ask study.toml -n 8 --json\n");
  asking.action = [ask_words, &context] { ask(ask_words->study, ask_words->count, context); };

  auto tell_words = std::make_shared<TellWords>();
  auto& telling = study.command("tell", "What came of a trial, or came so far");
  add_study_words(telling, tell_words->study);
  telling.argument("TRIAL", tell_words->trial, "Its number", {.range = Range{0, 2'000'000'000}});
  telling.option("--value", tell_words->values, "What it measured; once for each objective",
                 {.value = "NUMBER", .one_each = true});
  telling.option("--report", tell_words->reports, "What it measured on the way",
                 {.value = "STEP=VALUE", .one_each = true});
  telling.flag("--pruned", tell_words->pruned, "It was given up");
  telling.flag("--failed", tell_words->failed, "It failed", {.excludes = "--pruned"});
  telling.footer = examples(
      "  longship study tell study.toml 3 --value 0.25\n"
      "  longship study tell study.toml 3 --report 10=0.5\n"
      "  longship study tell study.toml 4 --failed\n");
  telling.action = [tell_words, &context] { tell(*tell_words, context); };
}

}  // namespace longship::cli
