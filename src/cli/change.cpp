// SPDX-License-Identifier: Apache-2.0
// longship cancel, hold, release, retry JOB…
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/say.h"
#include "command.h"
#include "hub_client.h"

namespace longship::cli {
namespace {

struct Words {
  std::vector<std::string> jobs;
  std::string hub;
};

// All of them are tried; the first failure decides the exit code.
void change(const Words& words, std::string_view verb, Context& context) {
  HubClient hub(words.hub);
  formats::Array changed;
  for (const auto& id : words.jobs) {
    try {
      auto job = hub.post(job_path(id, fmt::format("/{}", verb)));
      if (!context.json) {
        const auto reason = text_at(job, "reason");
        std::printf("%s: %s%s%s\n", text_at(job, "id").c_str(), text_at(job, "state").c_str(),
                    reason.empty() ? "" : ": ", reason.c_str());
      }
      changed.push_back(std::move(job));
    } catch (const net::Unreachable&) {
      throw;
    } catch (const Error& error) {
      complain(error.what());
      if (context.exit_code == 0) context.exit_code = static_cast<int>(error.failure());
    }
  }
  if (!context.json) return;
  formats::Table table;
  table.set("jobs", std::move(changed));
  std::printf("%s\n", formats::dump_json(table).c_str());
}

void add_verb(Command& app, Context& context, const std::string& verb, const std::string& what) {
  auto words = std::make_shared<Words>();
  auto& command = app.command(verb, what);
  command.argument("JOB", words->jobs, "digits-7 …");
  add_hub_option(command, words->hub);
  command.footer = examples("  longship " + verb + " digits-7\n");
  command.action = [words, verb, &context] { change(*words, verb, context); };
}

}  // namespace

void add_change(Command& app, Context& context) {
  add_verb(app, context, "cancel", "End jobs, wherever they are");
  add_verb(app, context, "hold", "Keep waiting jobs from starting");
  add_verb(app, context, "release", "Let held jobs go on");
  add_verb(app, context, "retry", "Run jobs that failed or were cancelled once more");
}

}  // namespace longship::cli
