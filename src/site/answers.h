// SPDX-License-Identifier: Apache-2.0
// Understanding what a machine's programs say about it. tests/fuzz/answers_fuzz.cpp feeds the readers; text
// that makes no sense is left out, as a person looks at the result anyway.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "site.h"

namespace longship::site {

// Partition, availability, time limit, job size, nodes, CPUs, MiB, generic resources: one line for each kind
// of node in a partition.
inline constexpr std::string_view sinfo_format = "%P|%a|%l|%s|%D|%c|%m|%G";

struct Partition {
  std::string name;
  bool is_default = false;
  bool up = true;
  int nodes = 0;                         // how many there are
  int max_nodes = 0;                     // of one job
  std::chrono::seconds max_walltime{0};  // 0: no limit
  int cores = 0;                         // of its smallest node
  std::uint64_t memory = 0;              // the same; 0: not known
  int gpus = 0;
};
[[nodiscard]] std::vector<Partition> parse_sinfo(std::string_view text);

// "2-00:00:00", "10:00", "30"; infinite is 0; nothing if it is none of them.
[[nodiscard]] std::optional<std::chrono::seconds> parse_slurm_time(std::string_view text);
// The GPUs in "gpu:a100:4(S:0-1),nvme:1".
[[nodiscard]] int parse_gres(std::string_view text);
// "Name = value" lines of scontrol show config.
[[nodiscard]] std::map<std::string, std::string, std::less<>> parse_config(std::string_view text);
// "pmix", "pmi2", … of srun --mpi=list.
[[nodiscard]] std::vector<std::string> parse_mpi_plugins(std::string_view text);
// "mpirun (Open MPI) 4.1.4", "HYDRA build details:\n    Version: 4.0.2", "MPICH Version: 4.0.2",
// "Intel(R) MPI Library for Linux* OS, Version 2021.9".
[[nodiscard]] std::optional<HostMpi> parse_mpi_version(std::string_view text);
// Where ldconfig -p has the library of a family; empty: nowhere.
[[nodiscard]] std::string find_mpi_library(std::string_view ldconfig, std::string_view family);

}  // namespace longship::site
