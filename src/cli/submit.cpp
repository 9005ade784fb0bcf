// SPDX-License-Identifier: Apache-2.0
// longship submit JOB: to the hub, which gives it to the first site that fits.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <random>
#include <thread>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "bring.h"
#include "command.h"
#include "formats/units.h"
#include "hub_client.h"
#include "hub_report.h"
#include "hub_wait.h"
#include "job/job.h"
#include "job/names.h"
#include "terminal.h"

namespace longship::cli {
namespace {

namespace fs = std::filesystem;

struct Words {
  std::string job, into, hub, site;
  std::vector<std::string> overrides;
  int count = 1;
  bool wait = false;
};

std::string random_key() {
  std::random_device random;
  std::string key;
  for (int i = 0; i < 4; ++i) key += fmt::format("{:08x}", random());
  return key;
}

fs::path runs_directory(const Words& words) {
  if (!words.into.empty()) return fs::absolute(words.into);
  const fs::path file = fs::absolute(words.job);
  return (fs::is_directory(file) ? file : file.parent_path()) / "runs";
}

// With a key, so that however often it is asked it is one submission.
std::vector<std::string> post(HubClient& hub, const Words& words, const job::Job& job, formats::Value code) {
  formats::Table body;
  body.set("job", formats::parse_json(job::to_json(job), "job"));
  body.set("code", std::move(code));
  body.set("count", words.count);
  if (!words.site.empty()) body.set("site", words.site);
  const auto answer = hub.post("/v1/jobs", formats::Value(body), random_key());
  std::vector<std::string> ids;
  for (const auto& id : list_at(answer, "jobs")) ids.push_back(id.text());
  if (ids.empty()) throw Error("the hub took the job but did not name it");
  return ids;
}

void line(std::string_view what, const std::string& words) {
  std::printf("  %-9.*s%s\n", static_cast<int>(what.size()), what.data(), words.c_str());
}

std::optional<formats::Value> report_of(HubClient& hub, const std::string& id) {
  try {
    return hub.get(job_path(id, "/report"));
  } catch (const Error& error) {
    explain("no time report: {}", error.what());
    return {};
  }
}

std::string ending(const formats::Value& job) {
  auto words = fmt::format("{} {}", text_at(job, "id"), text_at(job, "state"));
  const auto started = number_at(job, "started"), ended = number_at(job, "ended");
  if (started > 0 && ended >= started)
    words += fmt::format(" after {}", formats::human_duration(std::chrono::seconds(ended - started)));
  if (const auto site = text_at(job, "site"); !site.empty()) words += " at " + site;
  return words;
}

void print_for_people(HubClient& hub, const formats::Value& job, const std::vector<Fetched>& outputs) {
  const auto id = text_at(job, "id");
  line("job", ending(job));
  if (text_at(job, "state") == "failed") {
    std::fputs(last_words(hub, id, 20).c_str(), stderr);
    complain(fmt::format("{}: {}; longship show {} tells more", id, text_at(job, "reason"), id));
    return;
  }
  if (const auto json = report_of(hub, id)) {
    const auto report = report_from_json(*json);
    line("report", trace::summary_line(report));
    for (const auto& sentence : report.advice) line("advice", sentence);
  }
  for (const auto& output : outputs)
    line("output", fmt::format("{}  {}", from_here(output.path), formats::human_bytes(output.size)));
}

void print_as_json(HubClient& hub, formats::Value job, const std::vector<Fetched>& outputs,
                   const fs::path& into) {
  auto& table = job.table();
  table.set("directory", into.string());
  formats::Array files;
  for (const auto& output : outputs) files.emplace_back(output.path.string());
  table.set("files", std::move(files));
  if (auto report = report_of(hub, text_at(job, "id"))) table.set("report", std::move(*report));
  std::printf("%s\n", formats::dump_json(job).c_str());
}

void wait_for_one(HubClient& hub, const Words& words, const std::string& id, Context& context) {
  launch::Interruptions interruptions;
  const auto job = wait_for_job(hub, id, interruptions);
  std::vector<Fetched> outputs;
  const auto into = runs_directory(words) / id;
  if (text_at(job, "state") == "finished") outputs = fetch_outputs(hub, job, into);
  if (context.json)
    print_as_json(hub, job, outputs, into);
  else
    print_for_people(hub, job, outputs);
  context.exit_code = exit_code_of(job);
}

void wait_for_many(HubClient& hub, const std::vector<std::string>& ids, Context& context) {
  launch::Interruptions interruptions;
  std::map<std::string, int> counts;
  for (const auto& job : wait_for_jobs(hub, ids, interruptions)) {
    ++counts[text_at(job, "state")];
    if (context.exit_code == 0) context.exit_code = exit_code_of(job);
  }
  formats::Table table;
  for (const auto& [state, count] : counts) table.set(state, count);
  if (context.json) std::printf("%s\n", formats::dump_json(table).c_str());
  if (!context.json)
    for (const auto& [state, count] : counts) line("jobs", fmt::format("{} {}", count, state));
}

void print_ids(const std::vector<std::string>& ids, const Context& context) {
  if (!context.json) {
    for (const auto& id : ids) std::printf("%s\n", printable(id).c_str());
    return;
  }
  formats::Table table;
  table.set("jobs", formats::Array(ids.begin(), ids.end()));
  std::printf("%s\n", formats::dump_json(table).c_str());
}

void submit(const Words& words, Context& context) {
  const job::Job job = job::load(words.job, words.overrides);
  for (const auto& sentence : job::not_done_yet(job)) warn("{}", sentence);
  HubClient hub(words.hub);
  bring_images(hub, job);
  const auto ids = post(hub, words, job, bring_code(hub, job));
  if (!words.wait) {
    print_ids(ids, context);
    return;
  }
  const int ranks = job::ranks(job.needs);
  note("{}: {}{}", ids.size() == 1 ? ids.front() : ids.front() + " … " + ids.back(), counted(ranks, "rank"),
       job.image.empty() ? ", without an image" : ", in " + job.image);
  try {
    if (ids.size() == 1)
      wait_for_one(hub, words, ids.front(), context);
    else
      wait_for_many(hub, ids, context);
  } catch (const launch::Interrupted& interrupted) {
    const auto more = ids.size() > 1 ? " …" : "";
    note("{}{} goes on without you: longship logs -f {} follows, longship cancel {}{} ends it", ids.front(),
         more, ids.front(), ids.front(), more);
    context.exit_code = interrupted.exit_code();
  }
}

}  // namespace

void add_submit(Command& app, Context& context) {
  auto words = std::make_shared<Words>();
  auto& command = app.command("submit", "Give a job to the hub, which finds a site for it");
  command.argument("FILE", words->job, "The job file, or a directory with a job.toml");
  command.option("--set", words->overrides, "Change a value for this job: needs.nodes=2",
                 {.value = "KEY=VALUE"});
  command.option("--count", words->count, "Submit it that many times", {.range = Range{1, 1'000'000}});
  command.option("--site", words->site, "Only there (wherever it fits)", {.value = "NAME"});
  command.flag("-w,--wait", words->wait, "Wait until it ended, fetch its outputs, exit with its code");
  command.option("--into", words->into, "Where outputs go (runs/ beside the job file)", {.value = "DIR"});
  add_hub_option(command, words->hub);
  command.footer = examples(
      "  longship submit examples/digits/job.toml --wait\n"
      "  longship submit job.toml --set needs.nodes=16\n"
      "  longship submit task.toml --count 1000\n");
  command.action = [words, &context] { submit(*words, context); };
}

}  // namespace longship::cli
