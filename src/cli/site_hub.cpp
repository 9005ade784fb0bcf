// SPDX-License-Identifier: Apache-2.0
#include "site_hub.h"

#include <cstdio>
#include <memory>

#include "base/file.h"
#include "base/say.h"
#include "hub_client.h"
#include "net/address.h"
#include "table.h"

namespace longship::cli {
namespace {

struct AddWords {
  std::string name, ssh, longship, site_file, token_file, hub;
  int port = 0;
};

formats::Table request_of(const AddWords& words) {
  formats::Table body;
  body.set("site", words.name);
  if (!words.ssh.empty()) body.set("ssh", words.ssh);
  if (!words.longship.empty()) body.set("longship", words.longship);
  if (!words.site_file.empty()) body.set("site_file", words.site_file);
  if (words.port != 0) body.set("port", words.port);
  return body;
}

void add(const AddWords& words, const Context& context) {
  HubClient hub(words.hub);
  const auto answer = hub.post("/v1/sites", request_of(words));
  if (context.json) {
    std::printf("%s\n", formats::dump_json(answer).c_str());
    return;
  }
  if (!words.ssh.empty()) {
    note("site {}: the hub starts an agent at {} over ssh; longship site ls tells when it is up", words.name,
         words.ssh);
    return;
  }
  const auto file = words.token_file.empty() ? words.name + ".token" : words.token_file;
  write_file(file, answer.find("token")->text() + "\n", 0600);
  note("site {}: its agent's token is in {}. On its login node:", words.name, file);
  std::printf("  longship agent --site %s --hub %s --token-file %s\n", words.name.c_str(), hub.url().c_str(),
              file.c_str());
}

void list(const std::string& url, const Context& context) {
  HubClient hub(url);
  const auto answer = hub.get("/v1/sites");
  if (context.json) {
    std::printf("%s\n", formats::dump_json(answer).c_str());
    return;
  }
  TextTable table({{"site"},
                   {"state"},
                   {"since"},
                   {"batch"},
                   {"queues"},
                   {"waiting", Align::right},
                   {"running", Align::right},
                   {"condition"}});
  for (const auto& site : list_at(answer, "sites")) {
    std::string queues;
    std::int64_t waiting = 0, running = 0;
    for (const auto& queue : list_at(site, "queues")) {
      queues += (queues.empty() ? "" : ", ") + text_at(queue, "name");
      waiting += number_at(queue, "waiting");
      running += number_at(queue, "running");
    }
    table.add({text_at(site, "name"), text_at(site, "state"), ago(number_at(site, "since")),
               text_at(site, "batch"), queues, std::to_string(waiting), std::to_string(running),
               text_at(site, "condition")});
  }
  if (table.empty())
    note("there are no sites yet: longship up makes one of this machine, longship site add NAME another");
  else
    std::fputs(table.text().c_str(), stdout);
}

}  // namespace

void add_site_add(Command& site, Context& context) {
  const auto words = std::make_shared<AddWords>();
  auto& command =
      site.command("add", "Make a site known to the hub: its agent comes to us, or we start it over ssh");
  command.argument("NAME", words->name, "What the site is called");
  command.option("--ssh", words->ssh, "The hub logs in there and starts the agent", {.value = "USER@HOST"});
  command.option("--port", words->port, "Of ssh, if it is not the usual one");
  command.option("--longship", words->longship, "The program there, if it is not in the PATH",
                 {.value = "PATH"});
  command.option("--site-file", words->site_file, "The site file there; without one the agent looks around",
                 {.value = "PATH"});
  command.option("--token-file", words->token_file, "Where the agent's token goes (NAME.token)",
                 {.value = "FILE"});
  add_hub_option(command, words->hub);
  command.footer = examples(
      "  longship site add lab\n"
      "  longship site add supermuc --ssh me@login.example.org --site-file site.toml\n");
  command.action = [words, &context] { add(*words, context); };
}

void add_site_ls(Command& site, Context& context) {
  const auto url = std::make_shared<std::string>();
  auto& command = site.command("ls", "The hub's sites: up or since when not, and what runs there");
  add_hub_option(command, *url);
  command.footer = examples("  longship site ls\n");
  command.action = [url, &context] { list(*url, context); };
}

void add_site_rm(Command& site, Context& context) {
  struct Words {
    std::string name, hub;
  };
  const auto words = std::make_shared<Words>();
  auto& command = site.command("rm", "Forget a site; what runs there is stopped and goes elsewhere");
  command.argument("NAME", words->name, "The site");
  add_hub_option(command, words->hub);
  command.footer = examples("  longship site rm lab\n");
  command.action = [words, &context] {
    HubClient hub(words->hub);
    const auto answer = hub.remove("/v1/sites/" + net::percent_encode(words->name));
    if (context.json)
      std::printf("%s\n", formats::dump_json(answer).c_str());
    else
      note("forgot site {}", words->name);
  };
}

}  // namespace longship::cli
