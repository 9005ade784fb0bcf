// SPDX-License-Identifier: Apache-2.0
// longship site: what a machine or a cluster is, as a file.
#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "command.h"
#include "formats/units.h"
#include "site/probe.h"
#include "site_hub.h"
#include "table.h"

namespace longship::cli {
namespace {

namespace fs = std::filesystem;

struct ProbeWords {
  std::string name, batch, spool, file;
  bool force = false;
};

void run_probe(const ProbeWords& words, const Context& context) {
  site::ProbeOptions options;
  options.name = words.name;
  if (!words.spool.empty()) options.spool = fs::absolute(words.spool).lexically_normal();
  if (!words.batch.empty()) options.batch = words.batch == "slurm" ? site::Batch::slurm : site::Batch::local;
  const auto text = site::probe(options);
  if (context.json) {
    fmt::print("{}\n", site::to_json(site::parse(text, "site.toml")));
    return;
  }
  if (words.file.empty()) {
    fmt::print("{}", text);
    return;
  }
  if (fs::exists(words.file) && !words.force)
    throw Error(
        "{} is there already, perhaps with corrections: choose another name, or replace it with --force",
        words.file);
  write_file(words.file, text);
  note("{} is written: please check each line of it", words.file);
}

std::string or_any(int number) {
  return number > 0 ? std::to_string(number) : "any";
}

void print(const site::Site& site) {
  TextTable facts({{""}, {""}});
  facts.add({"batch", std::string(site::name_of(site.batch))});
  facts.add({"spool", printable(site.spool.string())});
  facts.add({"images", printable(site.store.string())});
  facts.add({"engine", site.engine});
  facts.add(
      {"node", fmt::format("{}, {} cores, {}, {}", site.node.arch, site.node.cores,
                           site.node.memory > 0 ? formats::human_bytes(site.node.memory) : "memory not known",
                           site.node.gpus > 0 ? fmt::format("{} GPUs", site.node.gpus) : "no GPUs")});
  if (site.host.mpi) facts.add({"MPI", fmt::format("{} {}", site.host.mpi->family, site.host.mpi->version)});
  if (!site.host.pmi.empty()) facts.add({"launcher", join(site.host.pmi, ", ")});
  const auto text = facts.text();
  fmt::print("site {}\n{}\n", site.name, text.substr(text.find('\n') + 1));

  TextTable queues({{"queue"}, {"nodes"}, {"walltime"}, {"at a time"}, {"accepts"}});
  for (const auto& queue : site.queues)
    queues.add({printable(queue.name), or_any(queue.max_nodes),
                queue.max_walltime.count() > 0 ? formats::human_duration(queue.max_walltime) : "any",
                std::to_string(queue.max_queued),
                queue.accepts.text().empty() ? "all" : printable(queue.accepts.text())});
  fmt::print("{}", queues.text());
}

void add_site_probe(Command& site, Context& context) {
  auto& command = site.command("probe", "Write a site file from what is found on this machine");
  const auto words = std::make_shared<ProbeWords>();
  command.option("-o,--output", words->file, "Where to; stdout if not given", {.value = "FILE"});
  command.option("--name", words->name,
                 "What the site is called; its cluster's or machine's name if not given");
  command.option("--batch", words->batch, "Do not look for a batch system", {.choices = {"local", "slurm"}});
  command.option("--spool", words->spool, "The directory that nodes and login node share", {.value = "DIR"});
  command.flag("--force", words->force, "Replace the file if it is there");
  command.footer =
      examples(
          "  longship site probe                        what is found here, with comments\n"
          "  longship site probe --name here -o site.toml\n"
          "  longship site probe --batch local --spool /data/longship\n") +
      "\nA person should check the file: which queues may be used, who pays, where there is room.";
  command.action = [words, &context] { run_probe(*words, context); };
}

void add_site_show(Command& site, Context& context) {
  auto& command = site.command("show", "Check a site file and show what it says");
  const auto file = std::make_shared<std::string>();
  command.argument("FILE", *file, "The site file");
  command.footer = examples(
      "  longship site show site.toml\n"
      "  longship site show site.toml --json\n");
  command.action = [file, &context] {
    const auto shown = site::load(*file);
    if (context.json)
      fmt::print("{}\n", site::to_json(shown));
    else
      print(shown);
  };
}

}  // namespace

void add_site(Command& app, Context& context) {
  auto& command = app.command("site", "Machines and clusters where jobs run");
  command.footer = examples(
      "  longship site probe -o site.toml\n"
      "  longship site add lab\n"
      "  longship site ls\n");
  add_site_probe(command, context);
  add_site_show(command, context);
  add_site_add(command, context);
  add_site_ls(command, context);
  add_site_rm(command, context);
}

}  // namespace longship::cli
