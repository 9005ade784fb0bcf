// SPDX-License-Identifier: Apache-2.0
// longship check: does an image fit this machine, or a site? The hub's matching asks the same functions.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "base/paths.h"
#include "base/process.h"
#include "base/text.h"
#include "box/abilities.h"
#include "chosen_image.h"
#include "command.h"
#include "fit/host_mpi.h"
#include "formats/document.h"
#include "hub_client.h"
#include "image/look.h"
#include "job/names.h"
#include "launch/engine.h"
#include "net/address.h"
#include "site/match.h"
#include "site/probe.h"
#include "store/store.h"
#include "table.h"
#include "terminal.h"

namespace longship::cli {
namespace {

struct Words {
  std::string image, site, hub;
  bool without_mpi = false;
};

bool is_file(const std::string& word) {
  return word.find('/') != std::string::npos || word.ends_with(".toml");
}

site::Site site_at_hub(const Words& words) {
  HubClient hub(words.hub);
  const auto answer = hub.get("/v1/sites/" + net::percent_encode(words.site));
  const auto* text = answer.find("file");
  if (text == nullptr || text->text().empty())
    throw Error("site {} has not told the hub yet what it has: longship site ls shows whether it is up",
                printable(words.site));
  return site::parse(text->text(), "site " + words.site);
}

// Several MPIs may be installed side by side; a site file names the one that counts there.
fit::HostFacts this_machine(const fit::ImageFacts& image) {
  auto facts = site::host_facts(site::understand(site::look()));
  const auto family = fit::mpi_family(image.mpi);
  if (family.empty() || fit::mpi_family(facts.mpi) == family) return facts;
  const fit::FileTree host;
  const auto library = fit::find_host_mpi(host, current_environment(), family);
  if (!library) return facts;
  facts.mpi = family;
  const auto wanted = fit::wanted_of(fit::host_mpi(host, *library, current_environment()));
  facts.mpi_glibc = wanted ? std::optional(wanted->glibc) : std::nullopt;
  return facts;
}

fit::HostFacts facts_of_site(const site::Site& site) {
  auto facts = site::host_facts(site);
  facts.name = "site " + site.name;
  return facts;
}

// A site's nodes cannot be asked from here; this machine can.
fit::Finding boxes_here() {
  const auto found = launch::engines_here();
  const auto chosen = std::string(launch::name_of(launch::engine_of_environment(current_environment())));
  if (chosen != "own") {
    if (std::find(found.begin(), found.end(), chosen) != found.end())
      return {"boxes", fit::Fit::good, chosen + " starts them, as LONGSHIP_ENGINE says", ""};
    return {"boxes", fit::Fit::none,
            fmt::format("LONGSHIP_ENGINE is {}, which is not installed here", chosen),
            "load its module, or unset LONGSHIP_ENGINE"};
  }
  const auto ability = box::boxes();
  const auto engine = launch::engine_to_suggest(found);
  if (ability.there || engine.empty())
    return {"boxes", ability.there ? fit::Fit::good : fit::Fit::none, ability.detail, ability.remedy};
  return {"boxes", fit::Fit::limited, ability.detail,
          fmt::format("let {0} start them: LONGSHIP_ENGINE={0}", engine)};
}

// What was not looked for cannot be judged.
fit::Finding old_record(const store::Image& image) {
  return {"record", fit::Fit::limited,
          fmt::format("{} was made by an earlier Longship, which did not look for MPI's ABI, PMIx and CUDA",
                      image.name),
          "build, import or pull it again"};
}

std::vector<fit::Finding> findings_of(const Words& words, const store::Image& image) {
  const auto facts = site::facts_of(image);
  const bool mpi = !words.without_mpi && !facts.mpi.empty();
  std::vector<fit::Finding> findings;
  if (words.site.empty()) {
    findings = fit::verdict(facts, this_machine(facts), mpi);
    findings.push_back(boxes_here());
  } else {
    const auto site = is_file(words.site) ? site::load(words.site) : site_at_hub(words);
    findings = fit::verdict(facts, facts_of_site(site), mpi);
    if (site.engine != "own")
      findings.push_back(
          {"boxes", fit::Fit::good, fmt::format("the site's {} starts them", site.engine), ""});
  }
  if (!facts.looked_for_software) findings.push_back(old_record(image));
  return findings;
}

std::string_view name_of(fit::Fit fit) {
  return fit == fit::Fit::good ? "good" : fit == fit::Fit::limited ? "limited" : "none";
}

void print_table(const std::vector<fit::Finding>& findings) {
  const bool colour = terminal(1).colour;
  const auto mark = [&](fit::Fit fit) -> std::string {
    if (fit == fit::Fit::limited) return colour ? "\033[33m!\033[0m" : "!";
    if (fit == fit::Fit::good) return colour ? "\033[32m✓\033[0m" : "✓";
    return colour ? "\033[31m✗\033[0m" : "✗";
  };
  TextTable table({{""}, {""}, {""}});
  for (const auto& finding : findings) {
    table.add({mark(finding.fit), finding.about, printable(finding.reason)});
    if (!finding.remedy.empty()) table.add({"", "", "→ " + printable(finding.remedy)});
  }
  const auto text = table.text();
  fmt::print("{}", text.substr(text.find('\n') + 1));  // without the line of titles
}

void print_json(const store::Image& image, const Words& words, const std::vector<fit::Finding>& findings) {
  formats::Array list;
  for (const auto& finding : findings) {
    formats::Table entry;
    entry.set("about", finding.about);
    entry.set("fit", std::string(name_of(finding.fit)));
    entry.set("reason", finding.reason);
    entry.set("remedy", finding.remedy);
    list.emplace_back(std::move(entry));
  }
  formats::Table all;
  all.set("image", image.name);
  all.set("site", words.site);
  all.set("fits", fit::worst(findings) != fit::Fit::none);
  all.set("findings", std::move(list));
  fmt::print("{}\n", formats::dump_json(std::move(all), formats::Layout::pretty));
}

// What is not in the store, and so has no record, is looked at now.
store::Image image_of(const std::string& word) {
  if (!is_path(word)) return store::Store().find(word);
  store::Image image;
  image.name = word;
  image.facts = image::look_at(choose_image(word).root);
  return image;
}

void run(const Words& words, Context& context) {
  const auto image = image_of(words.image);
  const auto findings = findings_of(words, image);
  if (context.json)
    print_json(image, words, findings);
  else
    print_table(findings);
  if (fit::worst(findings) == fit::Fit::none) context.exit_code = static_cast<int>(Failure::impossible);
}

}  // namespace

void add_check(Command& app, Context& context) {
  auto& command = app.command("check", "Does an image fit this machine, or a site? If not, what to do");
  const auto words = std::make_shared<Words>();
  command.argument("IMAGE", words->image, "Its name, or a directory or SquashFS file: /path, ./path");
  command.option("--on", words->site, "A site of the hub by its name, or a site file",
                 {.value = "SITE|FILE"});
  command.flag("--without-mpi", words->without_mpi,
               "For jobs that do not use the MPI in the image (launch = \"ranks\")");
  add_hub_option(command, words->hub);
  command.footer = examples(
                       "  longship check mpi-ring:openmpi\n"
                       "  longship check hpc-torch --on supermuc\n"
                       "  longship check ./root.sqfs\n"
                       "  longship check hpc-torch --on ./site.toml --json\n") +
                   "\n✓ fits, ! fits with the limit that is named, ✗ does not. The exit code is 0 if it fits "
                   "and 3 if not.";
  command.action = [words, &context] { run(*words, context); };
}

}  // namespace longship::cli
