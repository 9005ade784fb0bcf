// SPDX-License-Identifier: Apache-2.0
// longship up: hub, portal and an agent for this machine, in one process and without configuration; longship
// down.
#include <poll.h>

#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>

#include "agent/agent.h"
#include "agent/in_process.h"
#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "command.h"
#include "hub_service.h"
#include "installation.h"
#include "launch/signals.h"
#include "site/probe.h"
#include "store/store.h"

namespace longship::cli {
namespace {

namespace fs = std::filesystem;
constexpr const char* site_name = "here";

struct Words {
  ServiceWords service;
  std::string site_file;
  bool background = false, address = false;
};

// The hub's end of a stream within this process.
class HereLink final : public hub::AgentLink {
 public:
  void attach(agent::InProcess* stream) {  // null: it is gone
    const std::lock_guard lock(mutex_);
    stream_ = stream;
  }
  void send(std::string frame) override {
    const std::lock_guard lock(mutex_);
    if (stream_ != nullptr) stream_->deliver(std::move(frame));
  }
  void close() override {
    const std::lock_guard lock(mutex_);
    if (stream_ != nullptr) stream_->end("the hub closed it");
  }

 private:
  std::mutex mutex_;
  agent::InProcess* stream_ = nullptr;
};

std::unique_ptr<net::FrameStream> connect(hub::Hub& hub, const hub::Caller& caller) {
  const auto link = std::make_shared<HereLink>();
  const auto id = hub.connect(caller, link);
  auto stream =
      std::make_unique<agent::InProcess>([&hub, id](std::string frame) { hub.receive(id, std::move(frame)); },
                                         [&hub, id, link] {
                                           link->attach(nullptr);
                                           hub.disconnect(id);
                                         });
  link->attach(stream.get());
  return stream;
}

site::Site this_machine(const Words& words) {
  if (!words.site_file.empty()) return site::load(words.site_file);
  const auto written = words.service.where() / "site.toml";
  if (fs::exists(written)) return site::load(written);  // a person corrected it
  site::ProbeOptions options;
  options.name = site_name;
  options.batch = site::Batch::local;
  options.spool = words.service.where() / "spool";
  auto site = site::understand(site::look(), options);
  site.store = words.service.store.empty() ? store::default_location() : fs::absolute(words.service.store);
  return site;
}

agent::Options agent_options(hub::Hub& hub, const site::Site& site, const std::string& version) {
  const auto caller = hub.caller(hub.owner_token());
  if (!caller)
    throw Error("the hub does not know its own token: is the file \"token\" in its directory damaged?");
  agent::Options options;
  options.site = site;
  options.program = small_program();
  options.version = version;
  options.connect = [&hub, caller] { return connect(hub, *caller); };
  return options;
}

void run(const Words& words, const std::string& version) {
  launch::Interruptions interruptions;  // before there are threads, which inherit it
  const auto site = this_machine(words);
  Service service(words.service, version);
  agent::Agent agent(agent_options(service.hub(), site, version));
  std::string problem;
  const Pipe ended = make_pipe();
  std::jthread worker([&](std::stop_token stop) {
    try {
      agent.run(std::move(stop));
    } catch (const Error& error) {
      problem = error.what();
    }
    write_all(ended.write.get(), "x");
  });
  note("hub, portal and site \"{}\" at {}", site.name, service.portal());
  pollfd waited[] = {{interruptions.fd(), POLLIN, 0}, {ended.read.get(), POLLIN, 0}};
  while (::poll(waited, 2, -1) < 0) {
  }
  const bool told = waited[0].revents != 0;
  worker.request_stop();
  worker.join();
  if (!told) throw Error("the agent of site {} ended: {}", site.name, problem);
  note("stopping; what runs goes on, `longship up` finds it again");
}

std::vector<std::string> words_for_background(const Words& words) {
  std::vector<std::string> result = {"up", "--dir", words.service.where().string(), "--port",
                                     std::to_string(words.service.port)};
  if (!words.service.store.empty()) {
    result.emplace_back("--store");
    result.push_back(fs::absolute(words.service.store).string());
  }
  if (!words.site_file.empty()) {
    result.emplace_back("--site");
    result.push_back(fs::absolute(words.site_file).string());
  }
  return result;
}

void print_address(const std::string& portal, const std::string& url, const Context& context) {
  if (!context.json) {
    std::printf("%s\n", portal.c_str());
    return;
  }
  formats::Table table;
  table.set("url", url);
  table.set("portal", portal);
  std::printf("%s\n", formats::dump_json(table).c_str());
}

void up(const Words& words, const Context& context) {
  const auto directory = words.service.where();
  const auto running = answering_hub(directory);
  if (words.address) {
    print_address(portal_of(directory), running ? running->url : "", context);
    return;
  }
  if (running && !words.background)
    throw Error("a hub is already running in {}: {}", directory.string(), running->url);
  if (running) note("a hub is already running in {}", directory.string());
  if (!words.background) {
    run(words, context.version);
    return;
  }
  const auto hub = running ? *running : start_in_background(directory, words_for_background(words));
  print_address(portal_of(directory), hub.url, context);
}

}  // namespace

void add_up(Command& app, Context& context) {
  auto words = std::make_shared<Words>();
  auto& command = app.command("up", "Hub, portal and an agent for this machine, without configuration");
  command.option("--dir", words->service.directory, "The hub's directory (LONGSHIP_HUB_DIR)",
                 {.value = "DIR"});
  command.option("--port", words->service.port, "Where it listens on this machine; 0: any free one",
                 {.range = Range{0, 65535}, .show_default = true});
  command.option("--store", words->service.store, "The store of images (LONGSHIP_STORE)", {.value = "DIR"});
  command.option("--site", words->site_file, "A site file for this machine (found out by looking)",
                 {.value = "FILE"});
  command.flag("--background", words->background, "Return when it answers; DIR/hub.log has its words");
  command.flag("--address", words->address,
               "Only print the portal's address, with the token, of the running one");
  command.footer = examples(
      "  longship up\n"
      "  longship up --background\n"
      "  longship down\n");
  command.action = [words, &context] { up(*words, context); };

  auto& down = app.command("down", "Stop what `longship up` started; jobs that run go on");
  auto directory = std::make_shared<ServiceWords>();
  down.option("--dir", directory->directory, "The hub's directory (LONGSHIP_HUB_DIR)", {.value = "DIR"});
  down.footer = examples("  longship down\n");
  down.action = [directory, &context] {
    const bool was_running = stop_service(directory->where());
    if (!was_running) throw Error("no hub is running in {}", directory->where().string());
    if (context.json)
      std::printf("{\"stopped\":true}\n");
    else
      note("stopped");
  };
}

}  // namespace longship::cli
