// SPDX-License-Identifier: Apache-2.0
// longship why JOB: per site and queue, what does not fit. The words come from the code that decides.
#include <cstdio>
#include <memory>

#include "command.h"
#include "hub_client.h"
#include "table.h"

namespace longship::cli {
namespace {

struct Words {
  std::string job, hub;
};

bool flag_at(const formats::Value& value, std::string_view key) {
  const auto* found = value.find(key);
  return found != nullptr && found->is(formats::Kind::flag) && found->flag();
}

void print(const formats::Value& why) {
  const auto reason = text_at(why, "reason");
  std::printf("%s: %s%s%s\n", text_at(why, "job").c_str(), text_at(why, "state").c_str(),
              reason.empty() ? "" : ": ", reason.c_str());
  TextTable table({{"site"}, {"queue"}, {"fits"}, {"reason"}});
  for (const auto& place : list_at(why, "places"))
    table.add({text_at(place, "site"), text_at(place, "queue"), flag_at(place, "fits") ? "yes" : "no",
               text_at(place, "reason")});
  if (!table.empty()) std::printf("\n%s", table.text().c_str());
}

}  // namespace

void add_why(Command& app, Context& context) {
  auto words = std::make_shared<Words>();
  auto& command = app.command("why", "Why a job does not run, at each site and queue");
  command.argument("JOB", words->job, "digits-7");
  add_hub_option(command, words->hub);
  command.footer = examples("  longship why digits-7\n");
  command.action = [words, &context] {
    HubClient hub(words->hub);
    const auto why = hub.get(job_path(words->job, "/why"));
    if (context.json)
      std::printf("%s\n", formats::dump_json(why).c_str());
    else
      print(why);
  };
}

}  // namespace longship::cli
