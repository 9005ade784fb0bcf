// SPDX-License-Identifier: Apache-2.0
// A job as its file asks for it: docs/formats/job.md. What is here is valid; the reader named the line of
// what was not.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longship::job {

enum class Launch { ranks, mpi, spark, single };
enum class Stage { node, shared, none };

struct Needs {
  int nodes = 1;
  int ranks_per_node = 1;
  int threads_per_rank = 0;  // 0: the node's cores, divided
  int gpus_per_rank = 0;
  std::uint64_t memory_per_node = 0;  // bytes; 0: not said
  std::chrono::seconds walltime{0};   // 0: not said
};

struct Data {
  std::string dataset;  // "team/name@version", an absolute path, or s3://bucket/prefix
  std::string at;       // where the ranks find it
  Stage stage = Stage::none;
};

struct Checkpoint {
  std::chrono::seconds every{0};
  int keep = 3;
};

struct Outputs {
  std::vector<std::string> keep;  // names or patterns, relative to the working directory
  std::string into;               // a dataset; empty: beside the job
};

struct Job;
// What the job asks for that nothing acts on yet, a sentence each: to be told to whoever starts it.
[[nodiscard]] std::vector<std::string> not_done_yet(const Job& job);

struct Retry {
  int crashes = 0;
};

struct Job {
  std::string name;
  std::string image;  // a reference or an absolute path; empty: no box, this machine's own software
  std::vector<std::string> command;
  std::filesystem::path code;  // absolute, or empty: none
  Launch launch = Launch::ranks;
  std::string account;
  std::map<std::string, std::string> environment;  // [env]
  Needs needs;
  std::vector<Data> data;
  std::optional<Checkpoint> checkpoint;
  Outputs outputs;
  Retry retry;
};

inline constexpr int file_version = 1;

[[nodiscard]] inline int ranks(const Needs& needs) {
  return needs.nodes * needs.ranks_per_node;  // the reader saw to it that this fits
}

// A directory stands for the job.toml in it.
// `overrides` are "needs.nodes=16", as --set gives them; their errors name the option instead of a line.
[[nodiscard]] Job load(const std::filesystem::path& file, std::span<const std::string> overrides = {});
// `file` is for messages, `directory` is what `code` is relative to.
[[nodiscard]] Job parse(std::string_view text, std::string_view file, const std::filesystem::path& directory,
                        std::span<const std::string> overrides = {});

// As JSON, for the spool, --json and the hub; from_json accepts what to_json wrote, on whatever machine: it
// does not ask whether `code` is there.
[[nodiscard]] std::string to_json(const Job& job);
[[nodiscard]] Job from_json(std::string_view text, std::string_view origin);

}  // namespace longship::job
