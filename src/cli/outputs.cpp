// SPDX-License-Identifier: Apache-2.0
// longship outputs JOB: fetches the files it kept.
#include <cstdio>
#include <memory>

#include "base/say.h"
#include "command.h"
#include "formats/units.h"
#include "hub_client.h"
#include "hub_wait.h"
#include "terminal.h"

namespace longship::cli {
namespace {

struct Words {
  std::string job, into, hub;
};

}  // namespace

void add_outputs(Command& app, Context& context) {
  auto words = std::make_shared<Words>();
  auto& command = app.command("outputs", "Fetch the files that a job kept");
  command.argument("JOB", words->job, "digits-7");
  command.option("--into", words->into, "Where they go (runs/JOB)", {.value = "DIR"});
  add_hub_option(command, words->hub);
  command.footer = examples("  longship outputs digits-7 --into models\n");
  command.action = [words, &context] {
    HubClient hub(words->hub);
    const auto job = hub.get(job_path(words->job));
    const auto into = words->into.empty() ? std::filesystem::path("runs") / text_at(job, "id")
                                          : std::filesystem::path(words->into);
    const auto fetched = fetch_outputs(hub, job, std::filesystem::absolute(into));
    if (fetched.empty()) note("{} kept no files", text_at(job, "id"));
    formats::Array files;
    for (const auto& file : fetched) {
      if (!context.json)
        std::printf("%s  %s\n", from_here(file.path).c_str(), formats::human_bytes(file.size).c_str());
      files.emplace_back(file.path.string());
    }
    formats::Table table;
    table.set("files", std::move(files));
    if (context.json) std::printf("%s\n", formats::dump_json(table).c_str());
  };
}

}  // namespace longship::cli
