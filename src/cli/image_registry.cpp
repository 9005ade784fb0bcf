// SPDX-License-Identifier: Apache-2.0
// longship image pull, push, login, logout: images and registries.
#include <poll.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/fd.h"
#include "base/say.h"
#include "fit/fit.h"
#include "formats/units.h"
#include "image/mirrors.h"
#include "image/pull.h"
#include "image_commands.h"
#include "store/store.h"
#include "terminal.h"

namespace longship::cli {
namespace {

struct Words {
  std::string reference, name, architecture, user, registry;
  bool plain_http = false, password_stdin = false;
};

image::RegistryOptions options_for(const Words& words, const std::string& registry) {
  const char* authorities = std::getenv("SSL_CERT_FILE");
  return {image::CredentialFiles().find(registry), words.plain_http,
          authorities == nullptr ? "" : authorities};
}

// The mirrors of the registry, then itself; to each what is for it alone.
std::vector<image::Place> places_for(const Words& words, const image::Reference& reference) {
  const auto mirrors = image::Mirrors::of(current_environment());
  std::vector<image::Place> places;
  for (auto& place : mirrors.places(reference)) {
    auto options = options_for(words, place.registry);
    options.patient = false;
    options.plain_http = mirrors.plain_http(place.registry);
    places.push_back({std::move(place), std::move(options)});
  }
  auto& itself = places.back().options;
  itself.patient = true;
  itself.plain_http = itself.plain_http || words.plain_http;
  return places;
}

void pull(const Words& words, const Context& context) {
  const auto reference = image::parse_reference(words.reference);
  store::Store store;
  const auto progress = make_progress();
  const std::string architecture(fit::kernel_architecture(words.architecture));
  const auto made =
      image::pull(store,
                  {places_for(words, reference),
                   words.name.empty() ? reference.short_name(architecture) : words.name, architecture},
                  *progress);
  if (context.json) return print_json(store::to_json(made));
  note("image {}: {} files, {}", made.name, made.files, formats::human_bytes(made.size));
}

void push(const Words& words, const Context& context) {
  const auto reference = image::parse_reference(words.reference);
  const store::Store store;
  const auto progress = make_progress();
  const auto digest = image::push(store, store.find(words.name), reference,
                                  options_for(words, reference.registry), *progress);
  if (context.json) {
    formats::Table table;
    table.set("reference", reference.text());
    table.set("digest", digest);
    return print_json(std::move(table));
  }
  note("pushed {} as {} ({})", words.name, reference.text(), digest);
}

// A terminal that does not show what is typed, until the end of this. Who presses Ctrl-C at the question gets
// the terminal back as it was: signals wait, and take effect after that.
class Silence {
 public:
  Silence() {
    ::sigemptyset(&waiting_);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaddset(&waiting_, number);
    ::sigprocmask(SIG_BLOCK, &waiting_, &mask_);
    ::tcgetattr(STDIN_FILENO, &before_);
    termios silent = before_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;
  ~Silence() {
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
    std::cerr << "\n";
    ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }
  // False: a signal came first.
  [[nodiscard]] bool wait_for_line() const {
    const Fd signals(::signalfd(-1, &waiting_, SFD_CLOEXEC));
    pollfd polled[2] = {{STDIN_FILENO, POLLIN, 0}, {signals.get(), POLLIN, 0}};
    while (::poll(polled, 2, -1) < 0 && errno == EINTR) {
    }
    return polled[1].revents == 0;
  }

 private:
  sigset_t waiting_{}, mask_{};
  termios before_{};
};

std::string read_password(const Words& words) {
  std::string password;
  if (words.password_stdin || ::isatty(STDIN_FILENO) == 0) {
    std::getline(std::cin, password);
    return password;
  }
  std::cerr << "Password: " << std::flush;
  const Silence silence;
  if (silence.wait_for_line()) std::getline(std::cin, password);
  return password;
}

void login(const Words& words) {
  image::RegistryOptions options = options_for(words, words.registry);
  options.credentials = image::Credentials{words.user, read_password(words), {}};
  if (options.credentials->password.empty())
    throw Error(Failure::usage, "no password was given for {} at {}", words.user, words.registry);
  const auto reference = image::parse_reference(words.registry + "/login-check");
  within(fmt::format("cannot log in to {}", words.registry),
         [&] { image::Registry(reference, image::Registry::Access::pull, options).check_access(); });
  const image::CredentialFiles files;
  files.remember(words.registry, *options.credentials);
  note("{} knows you as {} (kept in {})", words.registry, words.user, files.own().string());
}

void logout(const Words& words) {
  if (!image::CredentialFiles().forget(words.registry))
    throw Error("there is nothing to forget: no password for {} is kept by longship image login",
                words.registry);
  note("forgot the password for {}", words.registry);
}

void add_plain_http(Command& command, Words& words) {
  command.flag("--plain-http", words.plain_http, "Without TLS, also beyond this machine");
}

void add_pull(Command& image, Context& context) {
  const auto words = std::make_shared<Words>();
  auto& command = image.command("pull", "Bring an image from a registry");
  command.argument("REFERENCE", words->reference, "HOST[:PORT]/NAME[:TAG][@sha256:…]");
  command.option("-t,--tag", words->name, "The name of the image here; else the last part of its own");
  command.option("--arch", words->architecture,
                 "The image for this architecture, not for this machine's: aarch64, ppc64le; it becomes a "
                 "word of the tag",
                 {.value = "ARCH"});
  add_plain_http(command, *words);
  command.footer = examples(
      "  longship image pull registry.example.org/team/gan3d:v2\n"
      "  longship image pull localhost:5000/tools -t tools\n"
      "  longship image pull registry.example.org/team/gan3d:v2 --arch aarch64    # becomes "
      "gan3d:v2-aarch64\n");
  command.action = [words, &context] { pull(*words, context); };
}

void add_push(Command& image, Context& context) {
  const auto words = std::make_shared<Words>();
  auto& command = image.command("push", "Bring an image to a registry");
  command.argument("IMAGE", words->name, "Its name here");
  command.argument("REFERENCE", words->reference, "HOST[:PORT]/NAME[:TAG]");
  add_plain_http(command, *words);
  command.footer = examples("  longship image push gan3d registry.example.org/team/gan3d:v2\n");
  command.action = [words, &context] { push(*words, context); };
}

void add_login(Command& image) {
  const auto words = std::make_shared<Words>();
  auto& command = image.command("login", "Keep a registry's user and password, after trying them");
  command.argument("REGISTRY", words->registry, "Its host, with the port if there is one");
  command.option("-u,--user", words->user, "The user's name there", {.required = true});
  command.flag("--password-stdin", words->password_stdin, "Read the password from stdin without asking");
  add_plain_http(command, *words);
  command.footer = examples("  longship image login registry.example.org -u me\n");
  command.action = [words] { login(*words); };
}

void add_logout(Command& image) {
  const auto words = std::make_shared<Words>();
  auto& command = image.command("logout", "Forget a registry's password");
  command.argument("REGISTRY", words->registry, "Its host");
  command.footer = examples("  longship image logout registry.example.org\n");
  command.action = [words] { logout(*words); };
}

}  // namespace

void add_image_registry(Command& image, Context& context) {
  add_pull(image, context);
  add_push(image, context);
  add_login(image);
  add_logout(image);
}

}  // namespace longship::cli
