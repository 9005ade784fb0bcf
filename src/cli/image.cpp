// SPDX-License-Identifier: Apache-2.0
// longship image: what images there are, and what one is. Making them is in image_make.cpp.
#include <cstdio>
#include <ctime>
#include <memory>

#include "base/say.h"
#include "base/text.h"
#include "command.h"
#include "formats/units.h"
#include "image_commands.h"
#include "store/store.h"
#include "table.h"

namespace longship::cli {
namespace {

std::string date(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  ::localtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
  return text;
}

std::string lines(const std::map<std::string, std::string>& texts) {
  std::string all;
  for (const auto& [key, value] : texts)
    all += fmt::format("{}{}={}", all.empty() ? "" : "\n", printable(key), printable(value));
  return all;
}

// "cuda 11.8, torch 1.13.1"
std::string words(const std::map<std::string, std::string>& software) {
  std::vector<std::string> all;
  for (const auto& [name, version] : software)
    all.push_back(printable(version.empty() ? name : name + " " + version));
  return join(all, ", ");
}

void list(const Context& context) {
  const auto images = store::Store().list();
  if (context.json) {
    formats::Array all;
    for (const auto& image : images) all.push_back(store::to_json(image));
    return print_json(std::move(all));
  }
  if (images.empty())
    return note("there are no images yet: longship image bootstrap debian:bookworm -t NAME makes one");
  TextTable table(
      {{"name"}, {"system"}, {"libc"}, {"files", Align::right}, {"size", Align::right}, {"made"}});
  for (const auto& image : images)
    table.add({image.name, image.facts.system, image.facts.libc, std::to_string(image.files),
               formats::human_bytes(image.size), date(image.created)});
  std::fputs(table.text().c_str(), stdout);
}

void show(const Context& context, const std::string& name) {
  const store::Store store;
  const auto image = store.find(name);
  if (context.json) {
    auto value = store::to_json(image);
    value.table().set("path", store.root_of(image).string());
    return print_json(std::move(value));
  }
  const auto row = [](std::string_view key, const std::string& value) {
    if (value.empty()) return;
    for (bool first = true; const auto line : split(value, '\n')) {
      fmt::print("{:<14}{}\n", first ? key : "", line);
      first = false;
    }
  };
  row("name", image.name);
  row("system", image.facts.system);
  row("architecture", image.facts.architecture);
  row("C library", image.facts.libc);
  row("MPI", image.facts.mpi);
  if (image.facts.software) row("software", words(*image.facts.software));
  row("files", std::to_string(image.files));
  row("size", formats::human_bytes(image.size));
  row("made", date(image.created));
  row("from", printable(image.origin));
  row("entrypoint", printable(as_typed(image.config.entrypoint)));
  row("command", printable(as_typed(image.config.command)));
  row("starts in", printable(image.config.working_directory));
  row("environment", lines(image.config.environment));
  row("labels", lines(image.config.labels));
  row("digest", image.root);
  row("file", store.root_of(image).string());
}

void add_list(Command& app, Context& context) {
  auto& command = app.command("ls", "The images in the store");
  command.footer = examples("  longship image ls\n  longship image ls --json | jq -r '.[].name'\n");
  command.action = [&context] { list(context); };
}

void add_show(Command& app, Context& context) {
  auto& command = app.command("show", "What an image is: system, C library, environment, file");
  const auto name = std::make_shared<std::string>();
  command.argument("IMAGE", *name, "Its name");
  command.footer = examples("  longship image show debian-torch\n");
  command.action = [&context, name] { show(context, *name); };
}

void add_remove(Command& app) {
  auto& command = app.command("rm", "Remove images, and the files that no other image needs");
  const auto names = std::make_shared<std::vector<std::string>>();
  command.argument("IMAGE", *names, "Their names");
  command.footer = examples("  longship image rm debian-torch\n");
  command.action = [names] {
    store::Store store;
    for (const auto& name : *names) {
      store.remove(name);
      note("removed {}", name);
    }
  };
}

}  // namespace

void print_json(formats::Value value) {
  std::puts(formats::dump_json(value, formats::Layout::pretty).c_str());
}

void add_image(Command& app, Context& context) {
  auto& command = app.command("image", "Make images and look at them");
  command.footer = examples(
      "  longship image bootstrap debian:bookworm -t debian-torch --packages python3-torch\n"
      "  longship image build -t tools .\n"
      "  longship image ls\n");
  add_image_bootstrap(command, context);
  add_image_import(command, context);
  add_image_build(command, context);
  add_image_registry(command, context);
  add_image_keep(command, context);
  add_list(command, context);
  add_show(command, context);
  add_remove(command);
}

}  // namespace longship::cli
