// SPDX-License-Identifier: Apache-2.0
#include "site/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longship::site {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(AnswersTest, PartitionsOfTheLab) {
  const auto found =
      parse_sinfo("debug*|up|infinite|1-infinite|3|4|2000|gpu:2\nshort|up|10:00|1-infinite|1|4|2000|gpu:2\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "debug");
  EXPECT_TRUE(found[0].is_default);
  EXPECT_EQ(found[0].nodes, 3);
  EXPECT_EQ(found[0].max_nodes, 3);
  EXPECT_EQ(found[0].max_walltime, seconds(0));
  EXPECT_EQ(found[0].cores, 4);
  EXPECT_EQ(found[0].memory, std::uint64_t{2000} << 20);
  EXPECT_EQ(found[0].gpus, 2);
  EXPECT_FALSE(found[1].is_default);
  EXPECT_EQ(found[1].max_walltime, minutes(10));
}

TEST(AnswersTest, APartitionWithSeveralKindsOfNodesHasWhatAllOfThemHave) {
  const auto found = parse_sinfo(
      "general|up|2-00:00:00|1-16|700|48|96000+|(null)\n"
      "general|up|2-00:00:00|1-16|92|40+|768000|gpu:a100:4(S:0,2),nvme:1\n"
      "drained|down|1:00:00|1|5|4|1|gpu:v100:2,gpu:2\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].nodes, 792);
  EXPECT_EQ(found[0].max_nodes, 16);
  EXPECT_EQ(found[0].max_walltime, hours(48));
  EXPECT_EQ(found[0].cores, 40);
  EXPECT_EQ(found[0].memory, std::uint64_t{96000} << 20);
  EXPECT_EQ(found[0].gpus, 0);
  EXPECT_FALSE(found[1].up);
  EXPECT_EQ(found[1].memory, 0u);  // nobody configured it
  EXPECT_EQ(found[1].gpus, 4);
}

TEST(AnswersTest, LinesThatMakeNoSenseAreLeftOut) {
  EXPECT_THAT(parse_sinfo("slurm_load_partitions: Unable to contact\n|||||||\na|b\n*|up|1|1|1|1|1|x\n"),
              IsEmpty());
}

TEST(AnswersTest, TimesOfSlurm) {
  EXPECT_EQ(parse_slurm_time("infinite"), seconds(0));
  EXPECT_EQ(parse_slurm_time("30"), minutes(30));
  EXPECT_EQ(parse_slurm_time("10:30"), seconds(630));
  EXPECT_EQ(parse_slurm_time("1:02:03"), seconds(3723));
  EXPECT_EQ(parse_slurm_time("2-00:00:00"), hours(48));
  EXPECT_EQ(parse_slurm_time("1-12"), hours(36));
  EXPECT_EQ(parse_slurm_time("1-12:30"), hours(36) + minutes(30));
  for (const auto* text : {"", "n/a", "1:2:3:4", "-5", "x-1", "1-"})
    EXPECT_EQ(parse_slurm_time(text), std::nullopt) << text;
}

TEST(AnswersTest, GenericResources) {
  for (const auto& [text, gpus] : {std::pair{"(null)", 0},
                                   {"gpu:2", 2},
                                   {"gpu", 1},
                                   {"gpu:a100:4(S:0-1)", 4},
                                   {"nvme:1,gpu:1", 1},
                                   {"gpu:a:1(S:0),gpu:b:2(S:1,2)", 3},
                                   {"gpumem:80", 0},
                                   {"", 0}})
    EXPECT_EQ(parse_gres(text), gpus) << text;
}

TEST(AnswersTest, TheClustersConfiguration) {
  const auto config = parse_config(
      "Configuration data as of 2026-11-16T04:05:04\nClusterName             = lab\nAuthInfo = socket=/x\n");
  EXPECT_EQ(config.at("ClusterName"), "lab");
  EXPECT_EQ(config.at("AuthInfo"), "socket=/x");
}

TEST(AnswersTest, WhatTheLauncherSpeaks) {
  EXPECT_THAT(parse_mpi_plugins("MPI plugin types are...\n\tpmix\n\tnone\n\tcray_shasta\n\tpmi2\n"
                                "specific pmix plugin versions available: pmix_v4\n"),
              ElementsAre("pmix", "cray_shasta", "pmi2", "pmix_v4"));
  EXPECT_THAT(parse_mpi_plugins("srun: MPI types are...\nsrun: none\nsrun: pmi2\nsrun: openmpi\n"),
              ElementsAre("pmi2", "openmpi"));
}

TEST(AnswersTest, FamiliesOfMpi) {
  struct Case {
    const char* text;
    HostMpi mpi;
  };
  for (const auto& [text, mpi] : std::initializer_list<Case>{
           {"mpirun (Open MPI) 4.1.4\n\nReport bugs to …\n", {"openmpi", "4.1.4", ""}},
           {"mpirun (OpenRTE) 5.0.1rc2\n", {"openmpi", "5.0.1", ""}},
           {"MPICH Version:    \t4.0.2\nMPICH Release date:\tThu Apr  7\n", {"mpich", "4.0.2", ""}},
           {"HYDRA build details:\n    Version:                                 4.0.2\n",
            {"mpich", "4.0.2", ""}},
           {"Intel(R) MPI Library for Linux* OS, Version 2021.9 Build 2023\n", {"mpich", "2021.9", ""}}})
    EXPECT_EQ(parse_mpi_version(text), mpi) << text;
  EXPECT_EQ(parse_mpi_version("something else 3\n"), std::nullopt);
  EXPECT_EQ(parse_mpi_version(""), std::nullopt);
}

TEST(AnswersTest, TheLibraryOfAFamily) {
  constexpr std::string_view text =
      "\tlibmpi_cxx.so.40 (libc6,x86-64) => /lib/libmpi_cxx.so.40\n"
      "\tlibmpich.so.12 (libc6,x86-64) => /lib/libmpich.so.12\n"
      "\tlibmpi.so.40 (libc6,x86-64) => /lib/libmpi.so.40\n\tlibmpi.so => /x\n";
  EXPECT_EQ(find_mpi_library(text, "openmpi"), "/lib/libmpi.so.40");
  EXPECT_EQ(find_mpi_library(text, "mpich"), "/lib/libmpich.so.12");
  EXPECT_EQ(find_mpi_library("", "mpich"), "");
}

}  // namespace
}  // namespace longship::site
