// SPDX-License-Identifier: Apache-2.0
// longship hub: the service alone, in the foreground; longship token add, ls, rm: who may use it.
#include <poll.h>

#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/say.h"
#include "command.h"
#include "hub_client.h"
#include "hub_service.h"
#include "launch/signals.h"
#include "net/address.h"
#include "table.h"

namespace longship::cli {

void add_hub(Command& app, Context& context) {
  auto words = std::make_shared<ServiceWords>();
  auto& command = app.command("hub", "The service alone, in the foreground: for a centre");
  auto listen = std::make_shared<std::string>();
  command.option("--dir", words->directory, "Its directory (LONGSHIP_HUB_DIR)", {.value = "DIR"});
  command.option("--listen", *listen, "Where (127.0.0.1:8470); port 0: any free one",
                 {.value = "ADDRESS:PORT"});
  command.option("--tls-cert", words->certificate, "Certificates, PEM", {.value = "FILE"});
  command.option("--tls-key", words->key, "Their key, PEM", {.value = "FILE"});
  command.option("--name", words->names, "A name that this machine is called by", {.value = "HOST"});
  command.option("--store", words->store, "The store of images (LONGSHIP_STORE)", {.value = "DIR"});
  command.footer = examples(
      "  longship hub --dir /srv/longship --listen 0.0.0.0:8470 --tls-cert hub.pem --tls-key hub.key\n");
  command.action = [words, listen, &context] {
    if (!listen->empty()) parse_listen(*listen, *words);
    launch::Interruptions interruptions;  // before there are threads, which inherit it
    Service service(*words, context.version);
    note("hub at {}", service.url());
    pollfd waited{interruptions.fd(), POLLIN, 0};
    while (::poll(&waited, 1, -1) < 0) {
    }
    note("stopping");
  };
}

namespace {

void add_token_add(Command& token, Context& context) {
  struct Words {
    std::string user, team, hub;
  };
  auto words = std::make_shared<Words>();
  auto& add = token.command("add", "A new token for a user; it is shown once");
  add.argument("USER", words->user, "Whose it is");
  add.option("--team", words->team, "The team whose jobs it may see", {.value = "TEAM"});
  add_hub_option(add, words->hub);
  add.footer = examples("  longship token add anna --team clic\n");
  add.action = [words, &context] {
    HubClient hub(words->hub);
    formats::Table body;
    body.set("user", words->user);
    if (!words->team.empty()) body.set("team", words->team);
    const auto answer = hub.post("/v1/tokens", formats::Value(body));
    if (context.json)
      std::printf("%s\n", formats::dump_json(answer).c_str());
    else
      std::printf("%s\n", text_at(answer, "token").c_str());
  };
}

void list_tokens(const std::string& url, const Context& context) {
  HubClient hub(url);
  const auto answer = hub.get("/v1/tokens");
  if (context.json) {
    std::printf("%s\n", formats::dump_json(answer).c_str());
    return;
  }
  TextTable table({{"id"}, {"user"}, {"team"}, {"site"}, {"age", Align::right}, {"last used", Align::right}});
  for (const auto& token : list_at(answer, "tokens")) {
    const auto used = ago(number_at(token, "used"));
    table.add({text_at(token, "id"), text_at(token, "user"), text_at(token, "team"), text_at(token, "site"),
               ago(number_at(token, "added")), used.empty() ? "never" : used});
  }
  if (table.empty())
    note("there are no tokens but that of the hub's owner: longship token add USER makes one");
  else
    std::fputs(table.text().c_str(), stdout);
}

void add_token_ls(Command& token, Context& context) {
  const auto url = std::make_shared<std::string>();
  auto& command = token.command("ls", "Who has a token, since when, and when it was used last, to the hour");
  add_hub_option(command, *url);
  command.footer = examples("  longship token ls\n");
  command.action = [url, &context] { list_tokens(*url, context); };
}

void add_token_rm(Command& token, Context& context) {
  struct Words {
    std::string id, hub;
  };
  const auto words = std::make_shared<Words>();
  auto& command = token.command("rm", "Revoke a token: it is refused from now on");
  command.argument("ID", words->id, "Which, as `longship token ls` shows it; never the token itself");
  add_hub_option(command, words->hub);
  command.footer = examples("  longship token rm 3f5a90c1d27e\n");
  command.action = [words, &context] {
    if (words->id.starts_with("ls_"))
      throw Error(Failure::usage,
                  "that is a token, which is better not shown: `longship token ls` has its ID");
    HubClient hub(words->hub);
    const auto answer = hub.remove("/v1/tokens/" + net::percent_encode(words->id));
    if (context.json)
      std::printf("%s\n", formats::dump_json(answer).c_str());
    else
      note("revoked token {} of {}", text_at(answer, "id"), text_at(answer, "user"));
  };
}

}  // namespace

void add_token(Command& app, Context& context) {
  auto& command = app.command("token", "Who may use the hub");
  command.footer = examples(
      "  longship token add anna --team clic\n"
      "  longship token ls\n"
      "  longship token rm 3f5a90c1d27e\n");
  add_token_add(command, context);
  add_token_ls(command, context);
  add_token_rm(command, context);
}

}  // namespace longship::cli
