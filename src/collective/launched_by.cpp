// SPDX-License-Identifier: Apache-2.0
#include "launched_by.h"

#include <charconv>

#include "base/error.h"

namespace longship::collective {
namespace {

constexpr int most_ranks = 1 << 20;

// Which variables a launcher uses. Ranks and sizes are needed, the others may be missing.
struct Dialect {
  Launcher by;
  const char *rank, *size, *local_rank, *local_size;
  const char* only_with;  // another variable that this launcher sets and its neighbours do not
};

// Open MPI's variables are also those of jsrun's Spectrum MPI, so jsrun is looked for first; PMI_RANK is set
// by srun too, with PMI_JOBID.
constexpr Dialect dialects[] = {
    {Launcher::torchrun, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID"},
    {Launcher::variables, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "WORLD_SIZE"},
    {Launcher::jsrun, "JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK",
     "JSM_NAMESPACE_LOCAL_SIZE", "JSM_NAMESPACE_SIZE"},
    {Launcher::openmpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE"},
    {Launcher::mpiexec, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "MPI_LOCALNRANKS"},
    // Not SLURM_NTASKS: a batch script has it as well, and is one process.
    {Launcher::srun, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr, "SLURM_STEP_ID"},
    {Launcher::mpiexec, "PMI_RANK", "PMI_SIZE", nullptr, nullptr, "PMI_SIZE"},
};

std::string value(const Lookup& variable, const char* name) {
  return variable(name).value_or("");
}

std::optional<int> optional_number(const Lookup& variable, const char* name, int least, int most) {
  if (name == nullptr) return {};
  const auto text = variable(name);
  if (!text) return {};
  return number_of(name, *text, least, most);
}

// The steps of a job that no srun started: the batch script, the shell of salloc.
bool is_srun_step(const Lookup& variable) {
  const std::string step = value(variable, "SLURM_STEP_ID");
  return !step.empty() && step.size() < 10;  // those have numbers just below 2^32
}

std::string batch_job(const Lookup& variable) {
  for (const char* name : {"SLURM_JOB_ID", "LSB_JOBID", "PBS_JOBID"})
    if (const auto id = variable(name)) return *id;
  return {};
}

std::string job_of(Launcher by, const Lookup& variable) {
  switch (by) {
    case Launcher::torchrun:
    case Launcher::variables: {
      const std::string host = value(variable, "MASTER_ADDR"), port = value(variable, "MASTER_PORT");
      if (host.empty() || port.empty()) return {};
      const std::string restarts = variable("TORCHELASTIC_RESTART_COUNT").value_or("0");
      return fmt::format("master-{}-{}-{}", host, port, restarts);
    }
    case Launcher::openmpi:
      for (const char* name : {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"})
        if (const auto id = variable(name)) return "openmpi-" + *id;
      return {};
    case Launcher::jsrun:
      return fmt::format("jsrun-{}-{}", value(variable, "LSB_JOBID"), value(variable, "JSM_NAMESPACE_ID"));
    case Launcher::srun: {
      const std::string restarts = variable("SLURM_RESTART_COUNT").value_or("0");
      return fmt::format("srun-{}-{}-{}", batch_job(variable), value(variable, "SLURM_STEP_ID"), restarts);
    }
    case Launcher::mpiexec: {  // says nothing about itself
      const std::string batch = batch_job(variable);
      return batch.empty() ? "" : "mpiexec-" + batch;
    }
    case Launcher::nobody:
      break;
  }
  return {};
}

Launched understood(const Dialect& dialect, const Lookup& variable) {
  Launched found;
  found.by = dialect.by;
  found.size = optional_number(variable, dialect.size, 1, most_ranks).value_or(1);
  const auto rank = optional_number(variable, dialect.rank, 0, found.size - 1);
  if (!rank && found.size > 1)
    throw Error(Failure::usage, "{}={}, but {} is not set", dialect.size, found.size, dialect.rank);
  found.rank = rank.value_or(0);
  found.local_size = optional_number(variable, dialect.local_size, 1, found.size);
  found.local_rank =
      optional_number(variable, dialect.local_rank, 0, found.local_size.value_or(found.size) - 1);
  found.one_node = found.local_size == found.size;
  found.job = job_of(dialect.by, variable);
  if (dialect.by == Launcher::srun) found.one_node = value(variable, "SLURM_STEP_NUM_NODES") == "1";
  // mpiexec carries the variables of the node where it was typed to all others.
  if (dialect.by != Launcher::mpiexec) found.node = value(variable, "SLURMD_NODENAME");
  return found;
}

}  // namespace

int number_of(const std::string& name, const std::string& text, int least, int most) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < least || number > most)
    throw Error(Failure::usage, "{}={}: not a number from {} to {}", name, text, least, most);
  return number;
}

Launched launched_by(const Lookup& variable) {
  for (const auto& dialect : dialects) {
    if (!variable(dialect.only_with) || !variable(dialect.size)) continue;
    if (dialect.by == Launcher::srun && !is_srun_step(variable)) continue;
    return understood(dialect, variable);
  }
  return {};
}

}  // namespace longship::collective
