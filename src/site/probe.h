// SPDX-License-Identifier: Apache-2.0
// A site file written by looking at this machine, with comments for the person who checks it.
//
// look() asks the machine and its batch system, understand() makes a site of the answers, and write() a file
// of the site. Only the first touches the world; the others are tested with recorded answers.
#pragma once
#include "site.h"

namespace longship::site {

// What the machine and its programs said; nothing: not there, or it failed.
struct Answers {
  std::string host;  // name of this machine
  std::string user;
  std::string architecture, kernel, glibc;  // "x86_64", "6.1.0-18-amd64", "glibc 2.36"
  int cores = 1;                            // that this process may use
  std::uint64_t memory = 0;
  int gpus = 0;
  std::map<std::string, std::string, std::less<>>
      environment;                         // HOME, SCRATCH, WORK, …: where a spool could be
  std::optional<std::string> sinfo;        // sinfo -h -o sinfo_format
  std::optional<std::string> config;       // scontrol show config
  std::optional<std::string> mpi_plugins;  // srun --mpi=list
  std::optional<std::string> mpirun, mpichversion;
  std::optional<std::string> libraries;   // ldconfig -p
  std::optional<std::string> driver;      // /proc/driver/nvidia/version
  std::optional<fit::Version> mpi_glibc;  // what the libraries of its MPI want
  std::string other_batch;                // "LSF", "PBS": found, and not supported yet
  bool user_namespaces = true;            // what Longship's own boxes need
  std::vector<std::string> engines = {};  // of the centre, that do without them
};

struct ProbeOptions {
  std::string name;             // empty: the cluster's, or the machine's
  std::optional<Batch> batch;   // nothing: Slurm where it answers, else local
  std::filesystem::path spool;  // empty: a suggestion
};

[[nodiscard]] Answers look();
[[nodiscard]] std::optional<HostMpi> mpi_of(const Answers& answers);  // a part of understand()
[[nodiscard]] Site understand(const Answers& answers, const ProbeOptions& options = {});
[[nodiscard]] std::string write(const Site& site, const Answers& answers);
// All three: the text of a site file.
[[nodiscard]] std::string probe(const ProbeOptions& options = {});

}  // namespace longship::site
