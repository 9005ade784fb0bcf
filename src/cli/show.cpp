// SPDX-License-Identifier: Apache-2.0
// longship show JOB: all that the hub knows about it.
#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>

#include "base/text.h"
#include "command.h"
#include "formats/units.h"
#include "hub_client.h"
#include "hub_wait.h"
#include "table.h"

namespace longship::cli {
namespace {

struct Words {
  std::string job, hub;
};

std::string when(std::int64_t seconds) {
  if (seconds == 0) return {};
  const std::time_t time = seconds;
  std::tm local{};
  char text[32];
  ::localtime_r(&time, &local);
  return {text, std::strftime(text, sizeof text, "%F %T", &local)};
}

std::string took(std::int64_t from, std::int64_t to) {
  return from > 0 && to >= from ? formats::human_duration(std::chrono::seconds(to - from)) : std::string();
}

void line(std::string_view what, const std::string& words) {
  if (!words.empty()) std::printf("%-10.*s%s\n", static_cast<int>(what.size()), what.data(), words.c_str());
}

std::string command_of(const formats::Value& job) {
  const auto* spec = job.find("spec");
  if (spec == nullptr) return {};
  std::vector<std::string> words;
  for (const auto& word : list_at(*spec, "command"))
    if (word.is(formats::Kind::text)) words.push_back(word.text());
  return as_typed(words);
}

void print_head(const formats::Value& job) {
  const auto reason = text_at(job, "reason");
  line("job", text_at(job, "id"));
  line("state", text_at(job, "state") + (reason.empty() ? "" : ": " + reason));
  line("owner", text_at(job, "owner") + (text_at(job, "team").empty() ? "" : " of " + text_at(job, "team")));
  line("image", text_at(job, "image"));
  line("command", command_of(job));
  line("size", counted(number_at(job, "ranks"), "rank") + " on " + counted(number_at(job, "nodes"), "node"));
  line("submitted", when(number_at(job, "submitted")));
  line("started", when(number_at(job, "started")));
  line("progress", progress_of(job));
  line("ended", when(number_at(job, "ended")));
}

void print_attempts(const formats::Value& job) {
  if (list_at(job, "attempts").empty()) return;
  TextTable table({{"attempt", Align::right},
                   {"site"},
                   {"queue"},
                   {"state"},
                   {"batch job"},
                   {"time", Align::right},
                   {"reason"}});
  for (const auto& attempt : list_at(job, "attempts")) {
    const auto outcome = text_at(attempt, "outcome");
    table.add({std::to_string(number_at(attempt, "number")), text_at(attempt, "site"),
               text_at(attempt, "queue"), outcome.empty() ? text_at(attempt, "state") : outcome,
               text_at(attempt, "batch_job"),
               took(number_at(attempt, "started"), number_at(attempt, "ended")), text_at(attempt, "reason")});
  }
  std::printf("\n%s", table.text().c_str());
}

void print_outputs(const formats::Value& job) {
  TextTable table({{"output"}, {"size", Align::right}});
  for (const auto& attempt : list_at(job, "attempts"))
    if (number_at(attempt, "number") == number_at(job, "attempt"))
      for (const auto& output : list_at(attempt, "outputs"))
        table.add({text_at(output, "name"),
                   formats::human_bytes(static_cast<std::uint64_t>(number_at(output, "size")))});
  if (!table.empty()) std::printf("\n%s", table.text().c_str());
}

void print_events(const formats::Value& job) {
  std::printf("\n");
  for (const auto& event : list_at(job, "events"))
    std::printf("%s  %s\n", when(number_at(event, "at")).c_str(), text_at(event, "what").c_str());
}

// Only what would work now.
void print_what_next(const formats::Value& job) {
  const auto id = text_at(job, "id"), state = text_at(job, "state");
  std::string words = "output: longship logs " + id;
  if (state == "finished") words += "    files: longship outputs " + id;
  if (state == "failed") words += "    errors: longship logs " + id + " --err";
  if (state == "failed" || state == "cancelled") words += "    again: longship retry " + id;
  std::printf("\n%s\n", words.c_str());
}

}  // namespace

void add_show_job(Command& app, Context& context) {
  auto words = std::make_shared<Words>();
  auto& command = app.command("show", "All about a job: attempts, events, outputs");
  command.argument("JOB", words->job, "digits-7");
  add_hub_option(command, words->hub);
  command.footer = examples("  longship show digits-7\n  longship show digits-7 --json\n");
  command.action = [words, &context] {
    HubClient hub(words->hub);
    const auto job = hub.get(job_path(words->job));
    if (context.json) {
      std::printf("%s\n", formats::dump_json(job).c_str());
      return;
    }
    print_head(job);
    print_attempts(job);
    print_outputs(job);
    print_events(job);
    print_what_next(job);
  };
}

}  // namespace longship::cli
