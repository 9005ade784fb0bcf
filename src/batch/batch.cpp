// SPDX-License-Identifier: Apache-2.0
#include "batch.h"

#include "base/error.h"
#include "base/text.h"
#include "formats/utf8.h"
#include "local.h"
#include "slurm.h"

namespace longship::batch {
namespace {

bool is_name(std::string_view name) {
  if (name.empty() || name.size() > 64 || name.front() == '.' || name.front() == '-') return false;
  for (const char c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
          c == '_' || c == '-'))
      return false;
  return true;
}

bool is_variable(std::string_view name) {
  if (name.empty() || (name.front() >= '0' && name.front() <= '9')) return false;
  for (const char c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'))
      return false;
  return true;
}

void check_text(const Pilot& pilot, std::string_view what, std::string_view text) {
  if (text.find('\0') != std::string_view::npos || formats::invalid_utf8(text))
    throw Error("pilot {}: its {} \"{}\" is not text", pilot.name, what, printable(text));
}

void check_line(const Pilot& pilot, std::string_view what, std::string_view text) {
  check_text(pilot, what, text);
  if (text.find_first_of("\n\r") != std::string_view::npos)
    throw Error("pilot {}: its {} \"{}\" is more than one line", pilot.name, what, printable(text));
}

}  // namespace

std::string_view name_of(State state) {
  switch (state) {
    case State::queued:
      return "queued";
    case State::running:
      return "running";
    case State::ended:
      return "ended";
    case State::unknown:
      return "unknown";
  }
  return "";
}

Pilot pilot_for(const site::Queue& queue) {
  Pilot pilot;
  pilot.queue = queue.name;
  pilot.walltime = queue.max_walltime;
  pilot.account = queue.account;
  pilot.qos = queue.qos;
  pilot.setup = queue.setup;
  pilot.options = queue.options;
  return pilot;
}

void check(const Pilot& pilot) {
  if (!is_name(pilot.name)) throw Error("\"{}\" is not the name of a pilot", printable(pilot.name));
  if (pilot.command.empty() || pilot.command[0].empty())
    throw Error("pilot {}: it has no command", pilot.name);
  if (pilot.nodes < 1 || pilot.cores < 0 || pilot.gpus < 0 || pilot.walltime.count() < 0)
    throw Error("pilot {}: it asks for less than nothing", pilot.name);
  for (const auto& word : pilot.command) check_text(pilot, "argument", word);
  for (const auto& [name, value] : pilot.environment) {
    if (!is_variable(name))
      throw Error("pilot {}: \"{}\" is not the name of a variable", pilot.name, printable(name));
    check_text(pilot, "variable " + name, value);
  }
  for (const auto& line : pilot.setup) check_line(pilot, "set-up line", line);
  for (const auto& word : pilot.options) check_line(pilot, "option", word);
  for (const auto& word : {pilot.queue, pilot.account, pilot.qos})
    check_line(pilot, "queue, account or qos", word);
  for (const auto& path : {pilot.output, pilot.directory}) {
    check_line(pilot, "path", path.string());
    if (!path.empty() && !path.is_absolute())
      throw Error("pilot {}: \"{}\" is not an absolute path", pilot.name, printable(path.string()));
  }
}

std::unique_ptr<BatchSystem> open(const site::Site& site) {
  switch (site.batch) {
    case site::Batch::local:
      return std::make_unique<Local>(site.spool / "local",
                                     Capacity{site.node.cores, site.node.memory, site.node.gpus});
    case site::Batch::slurm:
      return std::make_unique<Slurm>();
    default:
      throw Error(Failure::impossible,
                  "site {}: batch = \"{}\" is not supported yet: use \"slurm\" or \"local\"", site.name,
                  site::name_of(site.batch));
  }
}

}  // namespace longship::batch
