// SPDX-License-Identifier: Apache-2.0
#include "read.h"

#include <set>

#include "base/paths.h"
#include "base/text.h"
#include "formats/fields.h"
#include "formats/units.h"
#include "names.h"

namespace longship::job {
namespace {

using formats::Fields;
using formats::Kind;
using Directory = const std::filesystem::path*;

void check(const Fields& fields, std::string_view key, const Complaint& complaint) {
  if (complaint) throw fields.wrong(key, "{}", *complaint);
}

// An older program must say that it is older, before it calls the newer file's keys unknown.
void check_version(const formats::Value& document) {
  const Fields fields(document, "");
  if (!fields.has("version")) return;
  if (const auto version = fields.integer("version"); version != file_version)
    throw fields.wrong("version", "expected {}, found {}: this Longship knows no other", file_version,
                       version);
}

std::string absolute(const Fields& fields, std::string_view key, std::string path, Directory directory) {
  if (path.starts_with('/')) return path;
  if (directory == nullptr)
    throw fields.wrong(key, "expected an absolute path, found \"{}\"", printable(path));
  auto whole = (*directory / path).lexically_normal().string();
  if (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
  return whole;
}

std::vector<std::string> read_command(const Fields& fields) {
  const auto& value = fields.required("command");
  if (value.is(Kind::text))
    throw fields.wrong("command",
                       "expected a list of texts, found {}: write each word in quotes, as in [\"python3\", "
                       "\"train.py\"], or [\"sh\", \"-c\", \"…\"] for a shell line",
                       value.shown());
  auto command = fields.words("command");
  if (command.empty() || command.front().empty())
    throw fields.wrong("command", "expected a program and its arguments");
  for (const auto& word : command)
    if (word.find('\0') != std::string::npos)
      throw fields.wrong("command", "an argument holds no null character");
  return command;
}

std::string read_image(const Fields& fields, Directory directory) {
  if (!fields.has("image")) return "";
  auto image = fields.text("image");
  check(fields, "image", image_complaint(image));
  return is_path(image) ? absolute(fields, "image", std::move(image), directory) : image;
}

std::filesystem::path read_code(const Fields& fields, Directory directory) {
  if (!fields.has("code")) return {};
  const auto given = fields.text("code");
  if (given.empty() || given.find('\0') != std::string::npos)
    throw fields.wrong("code", "expected a directory");
  const std::filesystem::path code = absolute(fields, "code", given, directory);
  if (directory == nullptr) return code;
  std::error_code error;
  const auto status = std::filesystem::status(code, error);
  if (status.type() == std::filesystem::file_type::not_found)
    throw fields.wrong("code", "there is no directory {}", printable(code.string()));
  if (error) throw fields.wrong("code", "{}: {}", printable(code.string()), error.message());
  if (!std::filesystem::is_directory(status))
    throw fields.wrong("code", "{} is not a directory", printable(code.string()));
  return code;
}

std::map<std::string, std::string> read_environment(const Fields& job) {
  std::map<std::string, std::string> environment;
  if (!job.has("env")) return environment;
  const Fields fields(job.required("env"), "env");
  for (const auto& [name, value, place] : fields.entries()) {
    check(fields, name, variable_complaint(name));
    if (value.is(Kind::integer)) {
      environment[name] = std::to_string(value.integer());  // OMP_NUM_THREADS = 4 can mean only one thing
      continue;
    }
    // 0.10 and true can not: what a program would see is not what stands in the file.
    auto text = fields.text(name);
    if (text.find('\0') != std::string::npos) throw fields.wrong(name, "a value holds no null character");
    environment[name] = std::move(text);
  }
  return environment;
}

// The product must fit what a single job on a single machine can have; larger is a slip of the finger.
void check_product(const Fields& fields, std::string_view key, std::string_view of, std::int64_t product,
                   std::int64_t most) {
  if (product > most) throw fields.wrong(key, "{} are {}, more than {}", of, product, most);
}

Needs read_needs(const Fields& job) {
  Needs needs;
  const auto found = job.table("needs", {"nodes", "ranks_per_node", "threads_per_rank", "gpus_per_rank",
                                         "memory_per_node", "walltime"});
  if (!found) return needs;
  const auto& fields = *found;
  const auto count = [&](std::string_view key, formats::Range range, int fallback) {
    return static_cast<int>(fields.integer(key, range, fallback));
  };
  needs.nodes = count("nodes", {1, 100'000}, 1);
  needs.ranks_per_node = count("ranks_per_node", {1, 4'096}, 1);
  needs.threads_per_rank = count("threads_per_rank", {1, 4'096}, 0);
  needs.gpus_per_rank = count("gpus_per_rank", {0, 64}, 0);
  needs.memory_per_node = fields.bytes("memory_per_node", {"1MiB", "1PiB"}).value_or(0);
  needs.walltime = fields.duration("walltime", {"1s", "365d"}).value_or(std::chrono::seconds(0));

  const std::int64_t per_node = needs.ranks_per_node;
  check_product(fields, "ranks_per_node", "nodes × ranks_per_node", per_node * needs.nodes, 10'000'000);
  check_product(fields, "threads_per_rank", "ranks_per_node × threads_per_rank",
                per_node * needs.threads_per_rank, 8'192);
  check_product(fields, "gpus_per_rank", "ranks_per_node × gpus_per_rank", per_node * needs.gpus_per_rank,
                1'024);
  return needs;
}

Stage read_stage(const Fields& fields) {
  return fields.choice<Stage>(
      "stage", {{"node", Stage::node}, {"shared", Stage::shared}, {"none", Stage::none}}, Stage::none);
}

std::vector<Data> read_data(const Fields& job, Directory directory) {
  std::vector<Data> all;
  std::set<std::string> places;
  for (const auto& fields : job.tables("data", {"dataset", "at", "stage"})) {
    Data data;
    data.dataset = fields.text("dataset");
    check(fields, "dataset", dataset_complaint(data.dataset));
    if (is_path(data.dataset)) data.dataset = absolute(fields, "dataset", data.dataset, directory);
    data.at = fields.text("at");
    check(fields, "at", mount_point_complaint(data.at));
    data.at = absolute(fields, "at", std::filesystem::path(data.at).lexically_normal().string(), nullptr);
    if (data.at.ends_with('/')) data.at.pop_back();
    data.stage = read_stage(fields);
    if (!places.insert(data.at).second)
      throw fields.wrong("at", "{} is taken by another [[data]]", printable(data.at));
    all.push_back(std::move(data));
  }
  return all;
}

std::optional<Checkpoint> read_checkpoint(const Fields& job) {
  const auto fields = job.table("checkpoint", {"every", "keep"});
  if (!fields) return {};
  fields->required("every");
  Checkpoint checkpoint;
  checkpoint.every = *fields->duration("every", {"1s", "365d"});
  checkpoint.keep = static_cast<int>(fields->integer("keep", {1, 1'000}, checkpoint.keep));
  return checkpoint;
}

Outputs read_outputs(const Fields& job, Directory directory) {
  Outputs outputs;
  const auto fields = job.table("outputs", {"keep", "into"});
  if (!fields) return outputs;
  outputs.keep = fields->words("keep");
  std::set<std::string> seen;
  for (const auto& pattern : outputs.keep) {
    check(*fields, "keep", output_complaint(pattern));
    if (!seen.insert(pattern).second)
      throw fields->wrong("keep", "\"{}\" is there twice", printable(pattern));
  }
  if (!fields->has("into")) return outputs;
  outputs.into = fields->text("into");
  check(*fields, "into", dataset_complaint(outputs.into));
  if (is_path(outputs.into)) outputs.into = absolute(*fields, "into", outputs.into, directory);
  return outputs;
}

Retry read_retry(const Fields& job) {
  const auto fields = job.table("retry", {"crashes"});
  if (!fields) return {};
  return {static_cast<int>(fields->integer("crashes", {0, 1'000}, 0))};
}

Launch read_launch(const Fields& fields, const Needs& needs) {
  const auto launch = fields.choice<Launch>(
      "launch",
      {{"ranks", Launch::ranks}, {"mpi", Launch::mpi}, {"spark", Launch::spark}, {"single", Launch::single}},
      Launch::ranks);
  if (launch == Launch::single && ranks(needs) > 1)
    throw fields.wrong("launch", "\"single\" is one process, but needs asks for {} nodes × {} ranks_per_node",
                       needs.nodes, needs.ranks_per_node);
  return launch;
}

}  // namespace

Job read_job(const formats::Value& document, Directory directory) {
  check_version(document);
  const Fields fields(document, "",
                      {"version", "name", "image", "command", "code", "launch", "account", "env", "needs",
                       "data", "checkpoint", "outputs", "retry"});
  fields.required("version");
  Job job;
  job.name = fields.text("name");
  check(fields, "name", job_name_complaint(job.name));
  job.image = read_image(fields, directory);
  job.command = read_command(fields);
  job.code = read_code(fields, directory);
  job.account = fields.text("account", "");
  job.environment = read_environment(fields);
  job.needs = read_needs(fields);
  job.launch = read_launch(fields, job.needs);
  job.data = read_data(fields, directory);
  job.checkpoint = read_checkpoint(fields);
  job.outputs = read_outputs(fields, directory);
  job.retry = read_retry(fields);
  return job;
}

}  // namespace longship::job
