// SPDX-License-Identifier: Apache-2.0
// longship study fetch: a study that lives at the hub, to be read or to go on here.
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/say.h"
#include "job/names.h"
#include "journal_at_hub.h"
#include "study/study.h"
#include "study_commands.h"
#include "sweep/describe.h"

namespace longship::cli {
namespace {

struct Words {
  std::string study, owner = "-", into = "studies", hub;
};

void fetch(const Words& words, const Context& context) {
  if (const auto complaint = job::job_name_complaint(words.study); complaint)
    throw Error(Failure::usage, "{} is no name of a study: {}", words.study, *complaint);
  HubClient hub(words.hub);
  const auto directory = std::filesystem::absolute(words.into) / words.study;
  fetch_journal(hub, words.owner, words.study, directory);
  const auto study = study::Study::load(directory);
  if (!study) throw Error("what the hub has of {} is no study yet", words.study);
  if (context.json) {
    auto table = sweep::summary_json(*study, nullptr);
    table.set("directory", directory.string());
    std::printf("%s\n", formats::dump_json(table).c_str());
    return;
  }
  note("{} has the study now: longship study show {}", directory.string(), directory.string());
}

}  // namespace

void add_study_fetch(Command& study, Context& context) {
  auto words = std::make_shared<Words>();
  auto& command =
      study.command("fetch", "Bring a study from the hub, to look at it or to go on with it here");
  command.argument("NAME", words->study, "The study's name");
  command.option("--into", words->into, "Where studies are kept", {.value = "DIR", .show_default = true});
  command.option("--owner", words->owner, "Another's study, which is shown to your team (your own)",
                 {.value = "USER"});
  add_hub_option(command, words->hub);
  command.footer = examples(
      "  longship study fetch gan\n"
      "  longship study fetch gan --into /shared/studies --owner ada\n");
  command.action = [words, &context] { fetch(*words, context); };
}

}  // namespace longship::cli
