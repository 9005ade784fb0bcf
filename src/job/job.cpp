// SPDX-License-Identifier: Apache-2.0
#include "job.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/document.h"
#include "formats/units.h"
#include "overrides.h"
#include "read.h"

namespace longship::job {
namespace {

using formats::Array;
using formats::Table;
using formats::Value;

// A job file is a page of text; whatever is larger is some other file.
constexpr formats::Limits limits{.bytes = std::size_t{1} << 20, .depth = 16};

std::string_view name_of(Launch launch) {
  switch (launch) {
    case Launch::ranks:
      return "ranks";
    case Launch::mpi:
      return "mpi";
    case Launch::spark:
      return "spark";
    case Launch::single:
      return "single";
  }
  return "";
}

std::string_view name_of(Stage stage) {
  switch (stage) {
    case Stage::node:
      return "node";
    case Stage::shared:
      return "shared";
    case Stage::none:
      return "none";
  }
  return "";
}

Array list(const std::vector<std::string>& words) {
  return {words.begin(), words.end()};
}

Table written(const Needs& needs) {
  Table table;
  table.set("nodes", needs.nodes);
  table.set("ranks_per_node", needs.ranks_per_node);
  if (needs.threads_per_rank > 0) table.set("threads_per_rank", needs.threads_per_rank);
  table.set("gpus_per_rank", needs.gpus_per_rank);
  if (needs.memory_per_node > 0) table.set("memory_per_node", needs.memory_per_node);
  if (needs.walltime.count() > 0) table.set("walltime", formats::human_duration(needs.walltime));
  return table;
}

Table written(const Data& data) {
  Table table;
  table.set("dataset", data.dataset);
  table.set("at", data.at);
  table.set("stage", name_of(data.stage));
  return table;
}

Table written(const Checkpoint& checkpoint) {
  Table table;
  table.set("every", formats::human_duration(checkpoint.every));
  table.set("keep", checkpoint.keep);
  return table;
}

Table written(const Outputs& outputs) {
  Table table;
  table.set("keep", list(outputs.keep));
  if (!outputs.into.empty()) table.set("into", outputs.into);
  return table;
}

// The job file's own keys; what was not said is left out.
Table written(const Job& job) {
  Table table;
  table.set("version", file_version);
  table.set("name", job.name);
  if (!job.image.empty()) table.set("image", job.image);
  table.set("command", list(job.command));
  if (!job.code.empty()) table.set("code", job.code.string());
  table.set("launch", name_of(job.launch));
  if (!job.account.empty()) table.set("account", job.account);
  Table environment;
  for (const auto& [name, value] : job.environment) environment.set(name, value);
  if (!environment.empty()) table.set("env", std::move(environment));
  table.set("needs", written(job.needs));
  Array data;
  for (const auto& entry : job.data) data.emplace_back(written(entry));
  if (!data.empty()) table.set("data", std::move(data));
  if (job.checkpoint) table.set("checkpoint", written(*job.checkpoint));
  table.set("outputs", written(job.outputs));
  Table retry;
  retry.set("crashes", job.retry.crashes);
  table.set("retry", std::move(retry));
  return table;
}

}  // namespace

Job load(const std::filesystem::path& file, std::span<const std::string> overrides) {
  const bool in_directory = std::filesystem::is_directory(file);
  const auto path = in_directory ? file / "job.toml" : file;
  if (!std::filesystem::exists(path))
    throw Error(Failure::usage, "there is no job file {}{}", printable(path.string()),
                in_directory ? "" : ": name one, or a directory with a job.toml");
  const auto text = read_file(path, limits.bytes);
  return parse(text, path.string(), std::filesystem::absolute(path).parent_path(), overrides);
}

Job parse(std::string_view text, std::string_view file, const std::filesystem::path& directory,
          std::span<const std::string> overrides) {
  auto document = formats::parse_toml(text, file, limits);
  apply_overrides(document, overrides);
  return read_job(document, &directory);
}

std::string to_json(const Job& job) {
  return formats::dump_json(written(job), formats::Layout::pretty);
}

Job from_json(std::string_view text, std::string_view origin) {
  return read_job(formats::parse_json(text, origin, limits), nullptr);
}

std::vector<std::string> not_done_yet(const Job& job) {
  std::vector<std::string> sentences;
  for (const auto& data : job.data)
    if (data.stage != Stage::none)
      sentences.push_back(fmt::format("data {}: stage = \"{}\" does nothing yet, it is read where it lies",
                                      data.dataset, name_of(data.stage)));
  if (!job.outputs.into.empty())
    sentences.push_back(
        fmt::format("outputs.into = \"{}\" does nothing yet, outputs stay with the job", job.outputs.into));
  return sentences;
}

}  // namespace longship::job
