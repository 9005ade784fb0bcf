// SPDX-License-Identifier: Apache-2.0
// longship jobs: what the hub has, newest first.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "command.h"
#include "hub_client.h"
#include "launch/signals.h"
#include "net/address.h"
#include "table.h"
#include "terminal.h"

namespace longship::cli {
namespace {

struct Words {
  std::string state, name, owner, site, hub;
  int limit = 50;
  bool watch = false;
};

const std::vector<std::string>& states() {
  static const std::vector<std::string> all = {"waiting",  "held",   "assigned", "running",
                                               "finished", "failed", "cancelled"};
  return all;
}

std::string query(const Words& words) {
  std::string text = fmt::format("/v1/jobs?limit={}", words.limit);
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) text += fmt::format("&{}={}", name, net::percent_encode(value));
  };
  add("state", words.state);
  add("name", words.name);
  add("owner", words.owner);
  add("site", words.site);
  return text;
}

std::string progress_cell(const formats::Value& job) {
  const auto* progress = job.find("progress");
  const auto steps = progress != nullptr ? number_at(*progress, "steps") : 0;
  if (steps > 0 && !is_over(text_at(job, "state")))
    return fmt::format("{} %", 100 * number_at(*progress, "step") / steps);
  return {};
}

std::string reason_cell(const formats::Value& job) {
  const auto state = text_at(job, "state");
  return state == "running" || state == "finished" ? std::string() : text_at(job, "reason");
}

std::string table_of(const formats::Value& answer) {
  TextTable table({{"job"},
                   {"state"},
                   {"site"},
                   {"ranks", Align::right},
                   {"done", Align::right},
                   {"age", Align::right},
                   {"owner"},
                   {"reason"}});
  for (const auto& job : list_at(answer, "jobs"))
    table.add({text_at(job, "id"), text_at(job, "state"), text_at(job, "site"),
               std::to_string(number_at(job, "ranks")), progress_cell(job), ago(number_at(job, "submitted")),
               text_at(job, "owner"), reason_cell(job)});
  const auto shown = static_cast<std::int64_t>(list_at(answer, "jobs").size());
  const auto total = number_at(answer, "total");
  if (table.empty()) return "no jobs: longship submit JOB makes one\n";
  return table.text() +
         (total > shown ? fmt::format("… and {} more: --limit shows them\n", total - shown) : "");
}

// On a terminal the whole screen.
void watch(HubClient& hub, const Words& words) {
  launch::Interruptions interruptions;
  const auto screen = terminal(STDOUT_FILENO);
  while (!interruptions.take()) {
    std::string text;
    try {
      text = table_of(hub.get(query(words)));
    } catch (const net::Unreachable& problem) {
      text = std::string(problem.what()) + "\n";
    }
    std::printf("%s%s", screen.live ? "\033[H\033[2J" : "", fit_lines(text, screen).c_str());
    std::fflush(stdout);
    pollfd waited{interruptions.fd(), POLLIN, 0};
    ::poll(&waited, 1, 1000);
  }
}

}  // namespace

void add_jobs(Command& app, Context& context) {
  auto words = std::make_shared<Words>();
  auto& command = app.command("jobs", "Jobs at the hub, newest first, each with what it waits for");
  command.option("--state", words->state, "Only these: waiting, running, finished, failed, …",
                 {.value = "STATE"});
  command.option("--name", words->name, "Only jobs of this name", {.value = "NAME"});
  command.option("--owner", words->owner, "Only of this user", {.value = "USER"});
  command.option("--site", words->site, "Only at this site", {.value = "NAME"});
  command.option("--limit", words->limit, "At most that many",
                 {.range = Range{1, 1000}, .show_default = true});
  command.flag("--watch", words->watch, "Again every second, until Ctrl-C");
  add_hub_option(command, words->hub);
  command.footer = examples(
      "  longship jobs\n"
      "  longship jobs --state running --watch\n"
      "  longship jobs --json\n");
  command.action = [words, &context] {
    if (!words->state.empty() && std::find(states().begin(), states().end(), words->state) == states().end())
      throw Error(Failure::usage, "--state {}: there is no such state{} (there are: {})",
                  printable(words->state), suggestion(words->state, states()), join(states(), ", "));
    HubClient hub(words->hub);
    if (words->watch) {
      watch(hub, *words);
      return;
    }
    const auto answer = hub.get(query(*words));
    const auto text = context.json ? formats::dump_json(answer) + "\n"
                                   : fit_lines(table_of(answer), terminal(STDOUT_FILENO));
    std::fputs(text.c_str(), stdout);
  };
}

}  // namespace longship::cli
