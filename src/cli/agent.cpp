// SPDX-License-Identifier: Apache-2.0
// longship agent: the edge of a site, on its login node, for one Unix account.
#include "agent/agent.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "command.h"
#include "hub_client.h"
#include "installation.h"
#include "launch/signals.h"
#include "net/address.h"
#include "site/probe.h"

namespace longship::cli {
namespace {

namespace fs = std::filesystem;

struct Words {
  std::string site, site_file, hub, token_file, ca_file, spool;
  bool stdio = false;
};

site::Site site_of(const Words& words) {
  site::Site site;
  if (!words.site_file.empty()) {
    site = site::load(words.site_file);
    if (!words.site.empty()) site.name = words.site;
    if (!words.spool.empty()) site.spool = fs::absolute(words.spool);
    return site;
  }
  site::ProbeOptions options;
  options.name = words.site;
  if (!words.spool.empty()) options.spool = fs::absolute(words.spool);
  site = site::understand(site::look(), options);
  note("site {}: {}, spool {}; `longship site probe` writes a file of what was found, for you to correct",
       site.name, site::name_of(site.batch), site.spool.string());
  return site;
}

std::string url_of(const Words& words) {
  if (!words.hub.empty()) return words.hub;
  if (const char* url = std::getenv("LONGSHIP_HUB"); url != nullptr && *url != '\0') return url;
  if (const auto running = read_hub_file(default_hub_directory())) return running->url;
  throw Error(Failure::usage, "which hub? Give --hub URL, or set LONGSHIP_HUB, or use --stdio");
}

// Read anew for each connection: a token may be replaced while the agent runs.
std::string token_of(const Words& words) {
  const char* token = std::getenv("LONGSHIP_TOKEN");
  if (words.token_file.empty() && token != nullptr && *token != '\0') return token;
  const fs::path file =
      words.token_file.empty() ? default_hub_directory() / "token" : fs::path(words.token_file);
  const auto text = within("the token", [&] { return read_file(file, 4096); });
  if (trim(text).empty())
    throw Error(Failure::usage, "the token: {} is empty: \"longship site add\" wrote it", file.string());
  return std::string(trim(text));
}

// Our own stdin and stdout, out of the way of everything else that might be said there.
std::unique_ptr<net::FrameStream> take_stdio() {
  const int in = ::fcntl(0, F_DUPFD_CLOEXEC, 3);
  const int out = ::fcntl(1, F_DUPFD_CLOEXEC, 3);
  const Fd nothing = open_file("/dev/null", O_RDWR);
  if (in < 0 || out < 0 || ::dup2(nothing.get(), 0) < 0 || ::dup2(2, 1) < 0)
    throw Error::from_errno(errno, "cannot use stdin and stdout");
  return net::stdio_frames(in, out);
}

agent::Options options_of(const Words& words, const std::string& version, const std::stop_token& stop) {
  agent::Options options;
  options.site = site_of(words);
  options.program = small_program();
  options.version = version;
  options.ends_with_link = words.stdio;
  if (words.stdio) {
    auto stream = std::make_shared<std::unique_ptr<net::FrameStream>>(take_stdio());
    options.connect = [stream] {
      if (!*stream) throw Error("stdin is closed");
      return std::move(*stream);
    };
    return options;
  }
  auto url = url_of(words);
  while (url.ends_with('/')) url.pop_back();
  static_cast<void>(token_of(words));  // wrong words are better told now than at the first connection
  static_cast<void>(net::parse_address(url));
  options.connect = [words, url, stop] {
    return net::connect_websocket(url + "/v1/agent", token_of(words), words.ca_file, stop);
  };
  return options;
}

void run(const Words& words, const std::string& version) {
  launch::Interruptions interruptions;  // before there are threads, which inherit it
  std::stop_source stop;
  agent::Agent agent(options_of(words, version, stop.get_token()));
  std::exception_ptr problem;
  const Pipe ended = make_pipe();
  std::jthread worker([&] {
    try {
      agent.run(stop.get_token());
    } catch (...) {
      problem = std::current_exception();
    }
    write_all(ended.write.get(), "x");
  });
  pollfd waited[] = {{interruptions.fd(), POLLIN, 0}, {ended.read.get(), POLLIN, 0}};
  while (::poll(waited, 2, -1) < 0) {
  }
  stop.request_stop();
  worker.join();
  if (problem) std::rethrow_exception(problem);
  note("the agent ends; pilots go on, and the next agent finds them");
}

}  // namespace

void add_agent(Command& app, Context& context) {
  auto words = std::make_shared<Words>();
  auto& command = app.command("agent", "The edge of a site: takes jobs from the hub to its batch system");
  command.option("--site", words->site, "The site's name at the hub (from the site file)", {.value = "NAME"});
  command.option("--site-file", words->site_file, "What the site is like (found out by looking)",
                 {.value = "FILE"});
  command.option("--spool", words->spool, "Its directory on the shared file system (from the site file)",
                 {.value = "DIR"});
  command.option("--hub", words->hub, "The hub (LONGSHIP_HUB)", {.value = "URL"});
  command.option("--token-file", words->token_file,
                 "The token that `longship site add` gave (LONGSHIP_TOKEN)", {.value = "FILE"});
  command.option("--ca-file", words->ca_file, "Certificates to trust (the system's)", {.value = "FILE"});
  command.flag("--stdio", words->stdio, "Talk on stdin and stdout, as the hub does over ssh; end with them",
               {.excludes = "--hub"});
  command.footer = examples(
      "  longship agent --site-file site.toml --hub https://hub.example.org:8470 --token-file token\n"
      "  longship agent --stdio --site lab\n");
  command.action = [words, &context] { run(*words, context.version); };
}

}  // namespace longship::cli
