// SPDX-License-Identifier: Apache-2.0
// longship report: where the time of a run went.
#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <numeric>

#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "command.h"
#include "formats/number.h"
#include "formats/units.h"
#include "hub_client.h"
#include "hub_report.h"
#include "table.h"
#include "terminal.h"
#include "trace/report.h"
#include "trace/timeline.h"

namespace longship::cli {
namespace {

double seconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-9;
}

std::string heading(const trace::Report& report) {
  std::string words = fmt::format("{} {}, {}", report.size, report.size == 1 ? "rank" : "ranks",
                                  formats::human_seconds(seconds(report.length)));
  if (report.steps > 0)
    words += fmt::format(", {} steps of {}", formats::grouped(report.steps),
                         formats::human_seconds(seconds(report.length) / static_cast<double>(report.steps)));
  if (!report.metrics.empty()) words += "; at the end " + metrics_words(report.metrics);
  return words + "\n" + trace::summary_line(report) + "\n";
}

std::string table_of_ranks(const trace::Report& report) {
  std::vector<TextTable::Column> columns = {{"rank", Align::right}, {"node", Align::left}};
  for (const auto name : record::activity_names) columns.push_back({std::string(name), Align::right});
  columns.push_back({"last", Align::right});
  columns.push_back({"others waited", Align::right});
  TextTable table(std::move(columns));
  for (const auto& rank : report.ranks) {
    std::vector<std::string> cells = {std::to_string(rank.rank), rank.node};
    for (const int share : trace::percentages(rank.times)) cells.push_back(fmt::format("{} %", share));
    const double last = report.collectives == 0
                            ? 0
                            : static_cast<double>(rank.last) / static_cast<double>(report.collectives);
    cells.push_back(formats::percent(last));
    cells.push_back(formats::human_seconds(seconds(rank.caused)));
    table.add(std::move(cells));
  }
  return table.text();
}

std::string collectives_words(const trace::Report& report) {
  if (report.collectives == 0 || report.moving == 0) return {};
  std::string words =
      fmt::format("{} collectives, half of them of {} or less; {} of their time beneath computation\n",
                  formats::grouped(report.collectives), formats::human_bytes(report.median_bytes),
                  formats::percent(static_cast<double>(report.hidden) / static_cast<double>(report.moving)));
  if (const auto straggler = trace::straggler_words(report); !straggler.empty()) words += straggler + "\n";
  return words;
}

void print(const trace::Report& report) {
  std::string text = heading(report) + "\n" + table_of_ranks(report);
  if (const auto words = collectives_words(report); !words.empty()) text += "\n" + words;
  if (!report.advice.empty()) text += "\n";
  for (const auto& sentence : report.advice) text += "→ " + sentence + "\n";
  fmt::print("{}", text);
}

// Of a job at the hub; its site made the report, and has the recordings.
void print_of_job(const std::string& job, const std::string& timeline, const std::string& url,
                  const Context& context) {
  HubClient hub(url);
  const auto value = hub.get(job_path(job, "/report"));
  if (!timeline.empty()) {
    const TemporaryDirectory recordings("longship-report");
    fetch_recordings(hub, job, recordings.path());
    trace::write_timeline(trace::load(recordings.path()), timeline);
  }
  if (context.json) {
    fmt::print("{}\n", formats::dump_json(value, formats::Layout::pretty));
    return;
  }
  const auto report = report_from_json(value);
  for (const auto& problem : report.problems) warn("{}", problem);
  print(report);
}

// "digits-7" is a job, unless it is a directory too.
bool is_job(const std::string& word) {
  std::error_code problem;
  return word.find('/') == std::string::npos && word != "." && word != ".." &&
         !std::filesystem::exists(word, problem);
}

}  // namespace

void add_report(Command& app, Context& context) {
  auto& command =
      app.command("report", "Where the time of a run went: per rank, who was waited for, what to change");
  struct Words {
    std::string directory, timeline, hub;
  };
  const auto words = std::make_shared<Words>();
  command.argument("JOB|DIR", words->directory, "A job at the hub, or a run's directory");
  command.option("--timeline", words->timeline, "Also write a timeline for ui.perfetto.dev to this file",
                 {.value = "FILE"});
  add_hub_option(command, words->hub);
  command.footer = examples(
      "  longship report digits-7\n"
      "  longship report runs/digits-1\n"
      "  longship report digits-7 --timeline digits.json\n"
      "  longship report runs/digits-1 --json\n");
  command.action = [words, &context] {
    if (is_job(words->directory)) {
      print_of_job(words->directory, words->timeline, words->hub, context);
      return;
    }
    const auto run = trace::load(words->directory);
    const auto report = trace::analyse(run);
    for (const auto& problem : report.problems) warn("{}", problem);
    if (!words->timeline.empty()) trace::write_timeline(run, words->timeline);
    if (context.json)
      fmt::print("{}\n", formats::dump_json(trace::to_json(report), formats::Layout::pretty));
    else
      print(report);
  };
}

}  // namespace longship::cli
