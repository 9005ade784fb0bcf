// SPDX-License-Identifier: Apache-2.0
// longship report: where the time of a run went.
#include <fmt/core.h>

#include <algorithm>
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

std::string share_of(std::int64_t part, const trace::ActivityTimes& times) {
  const auto all = std::accumulate(times.begin(), times.end(), std::int64_t{0});
  return fmt::format("{:.0f} %", all > 0 ? 100 * static_cast<double>(part) / static_cast<double>(all) : 0.0);
}

std::vector<std::string> cells_of(const trace::RankReport& rank, const std::vector<std::size_t>& shown,
                                  std::uint64_t collectives) {
  using record::Activity;
  std::vector<std::string> cells = {std::to_string(rank.rank), rank.node};
  const auto shares = trace::percentages(rank.times);
  for (const std::size_t i : shown) {
    cells.push_back(fmt::format("{} %", shares[i]));
    if (i == static_cast<std::size_t>(Activity::communication))
      cells.push_back(share_of(rank.hidden, rank.times));
    if (i == static_cast<std::size_t>(Activity::waiting))
      cells.push_back(rank.waited_for < 0 ? "-" : fmt::format("rank {}", rank.waited_for));
  }
  const double last =
      collectives == 0 ? 0 : static_cast<double>(rank.last) / static_cast<double>(collectives);
  cells.push_back(formats::percent(last));
  cells.push_back(formats::human_seconds(seconds(rank.caused)));
  return cells;
}

bool happened(const trace::Report& report, std::size_t activity) {
  return std::any_of(report.ranks.begin(), report.ranks.end(),
                     [&](const auto& rank) { return rank.times[activity] > 0; });
}

// Of each rank: where its time went, what of its communication cost nothing, whom it waited for and who
// waited for it.
std::string table_of_ranks(const trace::Report& report) {
  using record::Activity;
  const auto rare =
      static_cast<std::size_t>(Activity::checkpoint);  // from here on only what happened is shown
  std::vector<TextTable::Column> columns = {{"rank", Align::right}, {"node", Align::left}};
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < record::activity_names.size(); ++i) {
    if (i >= rare && !happened(report, i)) continue;
    shown.push_back(i);
    columns.push_back({std::string(record::activity_names[i]), Align::right});
    if (i == static_cast<std::size_t>(Activity::communication)) columns.push_back({"hidden", Align::right});
    if (i == static_cast<std::size_t>(Activity::waiting)) columns.push_back({"for", Align::left});
  }
  columns.push_back({"last", Align::right});
  columns.push_back({"others waited", Align::right});
  TextTable table(std::move(columns));
  for (const auto& rank : report.ranks) table.add(cells_of(rank, shown, report.collectives));
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
  if (const auto words = trace::recording_words(report); !words.empty()) text += words + "\n";
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
      within(fmt::format("there is no directory {}, and about a job of that name", words->directory),
             [&] { print_of_job(words->directory, words->timeline, words->hub, context); });
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
