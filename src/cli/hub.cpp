// SPDX-License-Identifier: Apache-2.0
// longship hub: the service alone, in the foreground; longship token: who may use it.
#include <poll.h>

#include <cstdio>
#include <memory>

#include "base/say.h"
#include "command.h"
#include "hub_client.h"
#include "hub_service.h"
#include "launch/signals.h"

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

void add_token(Command& app, Context& context) {
  struct Words {
    std::string user, team, hub;
  };
  auto words = std::make_shared<Words>();
  auto& command = app.command("token", "Who may use the hub");
  command.footer = examples("  longship token add anna --team clic\n");
  auto& add = command.command("add", "A new token for a user; it is shown once");
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

}  // namespace longship::cli
