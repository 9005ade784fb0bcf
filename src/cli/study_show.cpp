// SPDX-License-Identifier: Apache-2.0
// longship study show, best: where a study stands.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "formats/number.h"
#include "launch/signals.h"
#include "study/pareto.h"
#include "study_commands.h"
#include "study_open.h"
#include "sweep/describe.h"
#include "sweep/pace.h"
#include "sweep/prepare.h"
#include "table.h"
#include "terminal.h"

namespace longship::cli {
namespace {

struct Words {
  StudyWords study;
  int limit = 20;
  bool watch = false;
};

std::string line(std::string_view what, const std::string& words) {
  return words.empty() ? std::string() : fmt::format("{:<10}{}\n", what, words);
}

std::string counts_words(const formats::Table& summary) {
  std::string words;
  for (const auto& [state, count, place] : summary.find("counts")->table())
    if (count.integer() > 0)
      words += fmt::format("{}{} {}", words.empty() ? "" : ", ", count.integer(), state);
  return words.empty() ? "none yet" : words;
}

std::string objective_words(const study::History& history, const sweep::StudyFile* file) {
  std::string words;
  for (const auto& objective : sweep::objectives_of(history, file))
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", objective.maximise ? "largest" : "smallest",
                         printable(objective.metric));
  return words;
}

std::string trial_words(const study::History& history, const study::Trial& trial) {
  return fmt::format("trial {}: {}  {}", trial.number, objectives_words(trial.values),
                     values_words(sweep::values_of(history, trial)));
}

std::string best_lines(const study::History& history, std::size_t limit) {
  std::string lines;
  const auto best = study::best_trials(history);
  const auto shown = std::min(best.size(), std::max<std::size_t>(limit, 1));
  for (std::size_t i = 0; i < shown; ++i)
    lines += line(i > 0             ? ""
                  : best.size() > 1 ? "front"
                                    : "best",
                  trial_words(history, history.trial(best[i])));
  if (shown < best.size())
    lines += fmt::format("          and {} more: `longship study best` has them all\n", best.size() - shown);
  return lines;
}

std::string took(const study::Trial& trial) {
  return trial.begun > 0 && trial.ended >= trial.begun ? formats::human_seconds(trial.ended - trial.begun)
                                                       : std::string();
}

// What a waiting job's row says of it: its values so far.
std::string state_words(const study::Trial& trial) {
  std::string words(study::name_of(trial.state));
  if (trial.state == study::TrialState::running && !trial.reports.empty())
    words += fmt::format(" {}: {}", trial.reports.rbegin()->first,
                         formats::human_value(trial.reports.rbegin()->second));
  return words;
}

// Of the budget, how much is used up.
std::string progress_words(const study::History& history, const sweep::StudyFile* file) {
  if (file == nullptr) return {};
  const auto progress = sweep::pace_of(history, *file);
  if (progress.expected == 0 || progress.over == 0) return {};
  const double share = static_cast<double>(progress.over) / static_cast<double>(progress.expected);
  return formats::percent(std::min(share, 1.0)) +
         (progress.left ? fmt::format(", about {} left", formats::human_seconds(*progress.left)) : "");
}

// A column that nobody fills says nothing.
std::string without_empty_columns(const std::vector<TextTable::Column>& columns,
                                  const std::vector<std::vector<std::string>>& rows) {
  const auto is_used = [&](std::size_t column) {
    return std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return !row[column].empty(); });
  };
  const auto used_of = [&](const auto& all) {
    std::remove_cvref_t<decltype(all)> kept;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (is_used(i)) kept.push_back(all[i]);
    return kept;
  };
  TextTable table(used_of(columns));
  for (const auto& row : rows) table.add(used_of(row));
  return table.text();
}

std::string trials_table(const study::History& history, int limit) {
  std::vector<std::vector<std::string>> rows;
  for (auto trial = history.trials().rbegin(); trial != history.trials().rend() && std::ssize(rows) < limit;
       ++trial) {
    if (sweep::find_remark(trial->attributes, sweep::remark::rejected) != nullptr) continue;
    if (trial->state == study::TrialState::waiting) continue;
    rows.push_back({std::to_string(trial->number), state_words(*trial), objectives_words(trial->values),
                    took(*trial), values_words(sweep::values_of(history, *trial)),
                    printable(sweep::remark_text(trial->attributes, sweep::remark::known_as)),
                    printable(sweep::remark_text(trial->attributes, sweep::remark::reason))});
  }
  if (rows.empty()) return {};
  const auto table = without_empty_columns({{"trial", Align::right},
                                            {"state"},
                                            {"value", Align::right},
                                            {"time", Align::right},
                                            {"values"},
                                            {"job"},
                                            {"reason"}},
                                           rows);
  return "\n" + fit_lines(table, terminal(STDOUT_FILENO));
}

std::string text_of(const OpenStudy& open, int limit) {
  const auto* file = open.file ? &*open.file : nullptr;
  const auto& history = open.study->history();
  const auto summary = sweep::summary_json(*open.study, file);
  const auto budget =
      file != nullptr && file->budget.trials > 0 ? fmt::format(" of {}", file->budget.trials) : "";
  return line("study", printable(open.study->name())) + line("kept in", open.directory.string()) +
         line("searches",
              objective_words(history, file) + (file != nullptr ? " with " + file->sampler.name : "")) +
         line("trials", counts_words(summary) + budget) + line("progress", progress_words(history, file)) +
         best_lines(history, static_cast<std::size_t>(limit)) + trials_table(history, limit);
}

// On a terminal the whole screen.
void watch(OpenStudy& open, int limit) {
  launch::Interruptions interruptions;
  const auto screen = terminal(STDOUT_FILENO);
  while (!interruptions.take()) {
    open.study->refresh();
    std::printf("%s%s", screen.live ? "\033[H\033[2J" : "", text_of(open, limit).c_str());
    std::fflush(stdout);
    pollfd waited{interruptions.fd(), POLLIN, 0};
    ::poll(&waited, 1, 1000);
  }
}

void show(const Words& words, const Context& context) {
  auto open = open_study(words.study);
  if (words.watch) return watch(open, words.limit);
  const auto text =
      context.json
          ? formats::dump_json(sweep::study_json(*open.study, open.file ? &*open.file : nullptr)) + "\n"
          : text_of(open, words.limit);
  std::fputs(text.c_str(), stdout);
}

void best(const StudyWords& words, const Context& context) {
  const auto open = open_study(words);
  const auto& history = open.study->history();
  const auto numbers = study::best_trials(history);
  if (numbers.empty()) throw Error("no trial of {} is complete yet", printable(open.study->name()));
  if (context.json) {
    formats::Array trials;
    for (const auto number : numbers) trials.emplace_back(sweep::trial_json(history, history.trial(number)));
    std::printf("%s\n", formats::dump_json(formats::Value(std::move(trials))).c_str());
    return;
  }
  for (const auto number : numbers) std::printf("%s\n", trial_words(history, history.trial(number)).c_str());
}

}  // namespace

void add_study_show(Command& study, Context& context) {
  auto words = std::make_shared<Words>();
  auto& shown = study.command("show", "Where the study stands: the best so far, and the last trials");
  add_study_words(shown, words->study);
  shown.option("--limit", words->limit, "So many of the last trials (20)", {.range = Range{0, 1'000'000}});
  shown.flag("--watch", words->watch, "Again every second, until Ctrl-C");
  shown.footer =
      examples("  longship study show study.toml --watch\n  longship study show studies/gan --json\n");
  shown.action = [words, &context] { show(*words, context); };

  auto best_words = std::make_shared<StudyWords>();
  auto& command =
      study.command("best", "The best trial, or with several objectives those that no other beats");
  add_study_words(command, *best_words);
  command.footer = examples("  longship study best study.toml\n  longship study best study.toml --json\n");
  command.action = [best_words, &context] { best(*best_words, context); };
}

}  // namespace longship::cli
