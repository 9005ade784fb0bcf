// SPDX-License-Identifier: Apache-2.0
// The environments are those that real launchers were seen to make: Open MPI 4.1.4, MPICH 4.0.2, Slurm 22.05,
// torch 1.13; jsrun's is from the documentation of OLCF's Summit.
#include "collective/launched_by.h"

#include <gtest/gtest.h>

#include <map>

#include "collective/world.h"
#include "expect.h"

namespace longship::collective {
namespace {

using Variables = std::map<std::string, std::string>;

Lookup lookup(Variables variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

Variables operator+(Variables all, const Variables& more) {
  for (const auto& [name, value] : more) all[name] = value;
  return all;
}

const Variables openmpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                           {"OMPI_COMM_WORLD_SIZE", "2"},
                           {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                           {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                           {"OMPI_MCA_ess_base_jobid", "7"},
                           {"PMIX_NAMESPACE", "2075066369"},
                           {"PMIX_RANK", "1"}};
const Variables mpich = {{"PMI_RANK", "1"},
                         {"PMI_SIZE", "2"},
                         {"PMI_FD", "8"},
                         {"MPI_LOCALRANKID", "1"},
                         {"MPI_LOCALNRANKS", "2"}};
const Variables allocation = {{"SLURM_JOB_ID", "12"},
                              {"SLURM_NTASKS", "3"},
                              {"SLURM_PROCID", "0"},
                              {"SLURM_LOCALID", "0"},
                              {"SLURMD_NODENAME", "node1"}};
const Variables srun = allocation + Variables{{"SLURM_PROCID", "2"},         {"SLURM_LOCALID", "0"},
                                              {"SLURM_STEP_ID", "4"},        {"SLURM_STEP_NUM_TASKS", "3"},
                                              {"SLURM_STEP_NUM_NODES", "2"}, {"SLURMD_NODENAME", "node2"}};
const Variables pmi2 =
    srun + Variables{{"PMI_FD", "13"}, {"PMI_JOBID", "12.4"}, {"PMI_RANK", "2"}, {"PMI_SIZE", "3"}};
const Variables pmix = srun + Variables{{"PMIX_NAMESPACE", "slurm.pmix.12.4"}, {"PMIX_RANK", "2"}};
const Variables jsrun = {{"JSM_NAMESPACE_RANK", "5"},       {"JSM_NAMESPACE_SIZE", "6"},
                         {"JSM_NAMESPACE_ID", "2"},         {"JSM_NAMESPACE_LOCAL_RANK", "1"},
                         {"JSM_NAMESPACE_LOCAL_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "5"},
                         {"OMPI_COMM_WORLD_SIZE", "6"},     {"LSB_JOBID", "901"}};
const Variables torchrun = {{"RANK", "1"},
                            {"WORLD_SIZE", "4"},
                            {"LOCAL_RANK", "1"},
                            {"LOCAL_WORLD_SIZE", "2"},
                            {"MASTER_ADDR", "n1"},
                            {"MASTER_PORT", "29500"},
                            {"TORCHELASTIC_RUN_ID", "none"},
                            {"TORCHELASTIC_RESTART_COUNT", "3"}};

struct Case {
  const char* what;
  Variables variables;
  Launcher by;
  int rank, size;
  bool one_node;
  std::string job;
};

TEST(LaunchedByTest, EveryLauncherIsUnderstood) {
  const Case cases[] = {
      {"nobody", {}, Launcher::nobody, 0, 1, false, ""},
      {"mpirun of Open MPI", openmpi, Launcher::openmpi, 1, 2, true, "openmpi-2075066369"},
      {"mpirun of Open MPI in an allocation", allocation + openmpi, Launcher::openmpi, 1, 2, true,
       "openmpi-2075066369"},
      {"mpirun that srun started for a node", srun + openmpi, Launcher::openmpi, 1, 2, true,
       "openmpi-2075066369"},
      {"mpiexec of MPICH", mpich, Launcher::mpiexec, 1, 2, true, ""},
      {"mpiexec of MPICH in an allocation", allocation + mpich, Launcher::mpiexec, 1, 2, true, "mpiexec-12"},
      {"srun", srun, Launcher::srun, 2, 3, false, "srun-12-4-0"},
      {"srun, PMI2", pmi2, Launcher::srun, 2, 3, false, "srun-12-4-0"},
      {"srun, PMIx", pmix, Launcher::srun, 2, 3, false, "srun-12-4-0"},
      {"srun on one node", srun + Variables{{"SLURM_STEP_NUM_NODES", "1"}}, Launcher::srun, 2, 3, true,
       "srun-12-4-0"},
      {"srun after a requeue", srun + Variables{{"SLURM_RESTART_COUNT", "1"}}, Launcher::srun, 2, 3, false,
       "srun-12-4-1"},
      {"the batch script is one process", allocation, Launcher::nobody, 0, 1, false, ""},
      {"so is the shell of salloc",
       allocation + Variables{{"SLURM_STEP_ID", "4294967290"}, {"SLURM_STEP_NUM_TASKS", "1"}},
       Launcher::nobody, 0, 1, false, ""},
      {"jsrun", jsrun, Launcher::jsrun, 5, 6, false, "jsrun-901-2"},
      {"torchrun", torchrun, Launcher::torchrun, 1, 4, false, "master-n1-29500-3"},
      {"torchrun that srun started", srun + torchrun, Launcher::torchrun, 1, 4, false, "master-n1-29500-3"},
      {"longship launch in an allocation", srun + Variables{{"RANK", "0"}, {"WORLD_SIZE", "1"}},
       Launcher::variables, 0, 1, false, ""},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.what);
    const Launched found = launched_by(lookup(one.variables));
    EXPECT_EQ(found.by, one.by);
    EXPECT_EQ(found.rank, one.rank);
    EXPECT_EQ(found.size, one.size);
    EXPECT_EQ(found.one_node, one.one_node);
    EXPECT_EQ(found.job, one.job);
  }
}

TEST(LaunchedByTest, TheNameOfTheNodeIsTheOneOfItsOwnLauncher) {
  EXPECT_EQ(launched_by(lookup(srun)).node, "node2");
  EXPECT_EQ(launched_by(lookup(allocation + mpich)).node,
            "");  // mpiexec copies its own node's variables everywhere
}

TEST(LaunchedByTest, WhatMakesNoSenseIsNamed) {
  const auto message = [](Variables variables) {
    return message_of([&] { static_cast<void>(launched_by(lookup(std::move(variables)))); });
  };
  EXPECT_EQ(message(openmpi + Variables{{"OMPI_COMM_WORLD_RANK", "2"}}),
            "OMPI_COMM_WORLD_RANK=2: not a number from 0 to 1");
  EXPECT_EQ(message({{"SLURM_STEP_ID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}}),
            "SLURM_STEP_NUM_TASKS=2, but SLURM_PROCID is not set");
}

TEST(LaunchedByTest, RanksMeetThroughAFileOrAtTheMastersPort) {
  const auto world = [](Variables variables) { return world_from(lookup(std::move(variables))); };
  EXPECT_EQ(world(srun + Variables{{"HOME", "/home/eva"}}).meeting_file,
            "/home/eva/.longship/rendezvous/srun-12-4-0.meet");
  EXPECT_EQ(world(srun + Variables{{"LONGSHIP_RENDEZVOUS_DIR", "/project"}}).meeting_file,
            "/project/srun-12-4-0.meet");
  EXPECT_EQ(world(openmpi + Variables{{"TMPDIR", "/scratch"}}).meeting_file.parent_path().parent_path(),
            "/scratch");
  EXPECT_EQ(world(torchrun + Variables{{"MASTER_ADDR", "a/../b"}, {"HOME", "/h"}}).meeting_file.filename(),
            "master-a-..-b-29500-3.meet");

  const std::string secret(32, 'c');
  const Variables master = {{"MASTER_ADDR", "n1"}, {"MASTER_PORT", "4000"}, {"LONGSHIP_SECRET", secret}};
  EXPECT_EQ(world(srun + master).host, "n1");
  EXPECT_EQ(world(srun + master).port, 4000);
  EXPECT_TRUE(world(srun + master).meeting_file.empty());
  // torchrun's own server is at that port.
  EXPECT_FALSE(world(torchrun + Variables{{"LONGSHIP_SECRET", secret}, {"HOME", "/h"}}).meeting_file.empty());

  EXPECT_EQ(message_of([&] { static_cast<void>(world(srun)); }),
            "rank 2 of 3: set LONGSHIP_RENDEZVOUS_DIR to a directory that all nodes see");
}

}  // namespace
}  // namespace longship::collective
