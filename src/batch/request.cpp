// SPDX-License-Identifier: Apache-2.0
#include "request.h"

#include "formats/document.h"
#include "formats/fields.h"

namespace longship::batch {
namespace {

using formats::Array;
using formats::Fields;
using formats::Table;

constexpr int file_version = 1;

}  // namespace

std::string to_json(const LocalRequest& request) {
  const auto& pilot = request.pilot;
  Table table;
  table.set("version", file_version);
  table.set("number", request.number);
  table.set("name", pilot.name);
  table.set("queue", pilot.queue);
  table.set("walltime", pilot.walltime.count());
  table.set("command", Array(pilot.command.begin(), pilot.command.end()));
  table.set("cores", pilot.cores);
  table.set("memory", pilot.memory);
  table.set("gpus", pilot.gpus);
  table.set("setup", Array(pilot.setup.begin(), pilot.setup.end()));
  table.set("output", pilot.output.string());
  table.set("directory", pilot.directory.string());
  Table environment;
  for (const auto& [name, value] : pilot.environment) environment.set(name, value);
  table.set("environment", std::move(environment));
  return formats::dump_json(std::move(table), formats::Layout::pretty);
}

LocalRequest request_from_json(std::string_view text, std::string_view origin) {
  const auto document = formats::parse_json(text, origin);
  const Fields fields(document, "");
  (void)fields.integer("version", {file_version, file_version});
  LocalRequest request;
  auto& pilot = request.pilot;
  request.number = fields.integer("number", {0, INT64_MAX});
  pilot.name = fields.text("name");
  pilot.queue = fields.text("queue");
  pilot.walltime = std::chrono::seconds(fields.integer("walltime", {0, INT64_MAX / 1'000'000}));
  pilot.command = fields.words("command");
  pilot.cores = static_cast<int>(fields.integer("cores", {0, 1'000'000}));
  pilot.memory = static_cast<std::uint64_t>(fields.integer("memory", {0, INT64_MAX}));
  pilot.gpus = static_cast<int>(fields.integer("gpus", {0, 1'000'000}));
  pilot.setup = fields.words("setup");
  pilot.output = fields.text("output");
  pilot.directory = fields.text("directory");
  const Fields environment(fields.required("environment"), "environment");
  for (const auto& [name, value, place] : environment.entries())
    pilot.environment[name] = environment.text(name);
  check(pilot);
  return request;
}

}  // namespace longship::batch
