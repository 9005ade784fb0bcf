// SPDX-License-Identifier: Apache-2.0
// A site as its file describes it: docs/formats/site.md. What is here is valid; the reader named the line of
// what was not.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expression.h"
#include "fit/fit.h"

namespace longship::site {

enum class Batch { local, slurm, lsf, pbs };
[[nodiscard]] std::string_view name_of(Batch batch);

struct Node {
  std::string arch;          // as uname says it
  int cores = 1;             // that a job may use
  std::uint64_t memory = 0;  // bytes; 0: not known
  int gpus = 0;
  std::filesystem::path local = "/tmp";  // a disk of the node's own
  bool network = false;                  // can a node reach the outside?
  [[nodiscard]] bool operator==(const Node&) const = default;
};

struct HostMpi {
  std::string family;                      // "openmpi" or "mpich": the ABI
  std::string version;                     // "4.1.4"; empty: not known
  std::string library;                     // its libmpi.so; empty: not known
  std::optional<fit::Version> glibc = {};  // what its libraries want of an image that they are let into
  bool let_in = false;                     // jobs with launch = "mpi" use it instead of the image's own
  [[nodiscard]] bool operator==(const HostMpi&) const = default;
};

struct Host {
  std::optional<fit::Version> glibc, kernel;
  std::optional<HostMpi> mpi;               // nothing: there is none
  std::vector<std::string> pmi;             // what the launcher speaks: "pmix", "pmi2", …
  std::optional<fit::Version> driver = {};  // of NVIDIA's GPUs
  [[nodiscard]] bool operator==(const Host&) const = default;
};

struct Queue {
  std::string name;                      // the batch system's
  int max_nodes = 0;                     // of one job; 0: no limit is known
  std::chrono::seconds max_walltime{0};  // 0: no limit is known
  int max_queued = 4;                    // pilots of ours at a time, waiting and running
  Expression accepts = {};
  std::string account = {}, qos = {};
  std::vector<std::string> setup = {};    // shell lines before the pilot starts
  std::vector<std::string> options = {};  // for the batch system's submit command
  int cores = 0;                          // of its nodes, where they differ from [node]; 0: they do not
  std::uint64_t memory = 0;
  std::optional<int> gpus = {};
  [[nodiscard]] bool operator==(const Queue&) const = default;
};

// Whose jobs the site takes, whatever the hub says. No names at all: of everyone who is known to the hub.
struct Accept {
  std::vector<std::string> teams, users;
  bool signed_only = false;  // `signed`: only images with a signature
  bool shared = false;       // one Unix account for jobs of several users or teams
  [[nodiscard]] bool operator==(const Accept&) const = default;
};

struct Site {
  std::string name;
  Batch batch = Batch::local;
  std::filesystem::path spool;  // on the shared file system, absolute
  std::filesystem::path store;  // where its images are
  std::string engine = "own";   // or the centre's: apptainer, sarus, podman, podman-hpc
  Node node;
  Host host;
  std::vector<Queue> queues;  // at least one
  Accept accept;
  [[nodiscard]] bool operator==(const Site&) const = default;
};

inline constexpr int file_version = 1;

// `origin` is for messages. Errors have file, line, key, and the nearest known word.
[[nodiscard]] Site parse(std::string_view text, std::string_view origin);
[[nodiscard]] Site load(const std::filesystem::path& file);
// As a site file; `parse` reads the same back. Comments stand before the key they are for: "spool",
// "node.cores", "queue.general", "accept"; that of "" comes first.
using Comments = std::map<std::string, std::string, std::less<>>;
[[nodiscard]] std::string to_toml(const Site& site, const Comments& comments = {});
[[nodiscard]] std::string to_json(const Site& site);

[[nodiscard]] const Queue* find_queue(const Site& site, std::string_view name);  // null: there is none
// Of the nodes of a queue.
[[nodiscard]] inline int cores_of(const Site& site, const Queue& queue) {
  return queue.cores > 0 ? queue.cores : site.node.cores;
}
[[nodiscard]] inline std::uint64_t memory_of(const Site& site, const Queue& queue) {
  return queue.memory > 0 ? queue.memory : site.node.memory;
}
[[nodiscard]] inline int gpus_of(const Site& site, const Queue& queue) {
  return queue.gpus.value_or(site.node.gpus);
}
// What fit::verdict compares images with.
[[nodiscard]] fit::HostFacts host_facts(const Site& site);

}  // namespace longship::site
