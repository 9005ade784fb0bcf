// SPDX-License-Identifier: Apache-2.0
#include "site/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect.h"

namespace longship::site {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Answers laptop() {
  Answers answers;
  answers.host = "Ada's-Laptop.example.org";
  answers.user = "ada";
  answers.architecture = "x86_64";
  answers.kernel = "6.1.0-18-amd64";
  answers.glibc = "glibc 2.36";
  answers.cores = 8;
  answers.memory = std::uint64_t{16} << 30;
  answers.environment = {{"HOME", "/home/ada"}};
  return answers;
}

Answers cluster() {
  auto answers = laptop();
  answers.environment["SCRATCH"] = "/lustre/ada";
  answers.sinfo =
      "small|up|10:00|1-infinite|1|8|16000|(null)\nbig*|up|2-00:00:00|1-16|64|48|96000|gpu:4\nold|down|"
      "infinite|1|9|4|1|(null)\n";
  answers.config = "ClusterName = SuperMUC_NG\n";
  answers.mpi_plugins = "MPI plugin types are...\n\tnone\n\tpmi2\n";
  answers.mpirun = "Intel(R) MPI Library for Linux* OS, Version 2021.9 Build 1\n";
  answers.libraries = "\tlibmpi.so.12 (libc6,x86-64) => /opt/libmpi.so.12\n";
  answers.mpi_glibc = fit::Version(2, 28);
  answers.driver = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19\n";
  return answers;
}

TEST(ProbeTest, AMachineWithoutABatchSystem) {
  const auto site = understand(laptop());
  EXPECT_EQ(site.name, "ada-s-laptop");
  EXPECT_EQ(site.batch, Batch::local);
  EXPECT_EQ(site.spool, "/home/ada/.local/share/longship/spool");
  EXPECT_EQ(site.node, (Node{"x86_64", 8, std::uint64_t{16} << 30, 0, "/tmp", true}));
  EXPECT_EQ(site.host.glibc->text(), "2.36");
  EXPECT_EQ(site.host.kernel->text(), "6.1");
  EXPECT_FALSE(site.host.mpi);
  ASSERT_EQ(site.queues.size(), 1u);
  EXPECT_EQ(site.queues[0].max_queued, 8);
}

TEST(ProbeTest, AClusterWithSlurm) {
  const auto site = understand(cluster());
  EXPECT_EQ(site.name, "supermuc_ng");
  EXPECT_EQ(site.batch, Batch::slurm);
  EXPECT_EQ(site.spool, "/lustre/ada/longship");
  EXPECT_EQ(site.store, "/lustre/ada/longship/store");
  EXPECT_EQ(site.node, (Node{"x86_64", 48, std::uint64_t{96000} << 20, 4, "/tmp", false}));
  EXPECT_THAT(site.host.pmi, ElementsAre("pmi2"));
  EXPECT_EQ(*site.host.mpi, (HostMpi{"mpich", "2021.9", "/opt/libmpi.so.12", fit::Version(2, 28)}));
  EXPECT_EQ(site.host.driver, fit::Version(535, 104, 5));
  ASSERT_EQ(site.queues.size(), 2u);  // the one that is down is left out
  EXPECT_EQ(site.queues[0].name, "small");
  EXPECT_EQ(site.queues[0].max_walltime, std::chrono::minutes(10));
  EXPECT_EQ(cores_of(site, site.queues[0]), 8);
  EXPECT_EQ(gpus_of(site, site.queues[0]), 0);
  EXPECT_EQ(site.queues[1].max_nodes, 16);
  EXPECT_EQ(site.queues[1].cores, 0);
}

TEST(ProbeTest, WhatIsWrittenReadsBackTheSameAndTellsWhatToCheck) {
  for (const auto& answers : {laptop(), cluster()}) {
    const auto site = understand(answers);
    const auto text = write(site, answers);
    EXPECT_EQ(parse(text, "site.toml"), site) << text;
    EXPECT_TRUE(text.starts_with("# The site ")) << text;
    EXPECT_THAT(text, HasSubstr("users = [\"ada\"]"));
  }
}

TEST(ProbeTest, WithoutUserNamespacesTheCentresToolIsChosen) {
  auto answers = laptop();
  answers.engines = {"apptainer", "sarus"};
  EXPECT_EQ(understand(answers).engine, "own");
  answers.user_namespaces = false;
  const auto site = understand(answers);
  EXPECT_EQ(site.engine, "apptainer");
  EXPECT_THAT(write(site, answers),
              HasSubstr("User namespaces are off on this machine. Found: apptainer, sarus."));
  answers.engines.clear();
  EXPECT_EQ(understand(answers).engine, "own");
  EXPECT_THAT(write(understand(answers), answers), HasSubstr("none of those was found"));
}

TEST(ProbeTest, WhatIsGivenIsNotGuessed) {
  const auto site = understand(cluster(), {"here", Batch::local, "/spool"});
  EXPECT_EQ(site.name, "here");
  EXPECT_EQ(site.batch, Batch::local);
  EXPECT_EQ(site.spool, "/spool");
  EXPECT_EQ(site.node.cores, 8);
}

TEST(ProbeTest, WhatCannotBeFoundIsAnErrorWithARemedy) {
  EXPECT_THAT(message_of([] {
                (void)understand(laptop(), {"", Batch::slurm, ""});
              }),
              HasSubstr("look at \"sinfo\""));
  EXPECT_THAT(message_of([] {
                (void)understand(laptop(), {"", Batch::lsf, ""});
              }),
              HasSubstr("not supported yet"));
  auto homeless = laptop();
  homeless.environment.clear();
  EXPECT_THAT(message_of([&] { (void)understand(homeless); }), HasSubstr("--spool"));
  const auto site = understand(laptop(), {"Not A Name", {}, ""});
  EXPECT_THAT(message_of([&] { (void)write(site, laptop()); }), HasSubstr("is not a site's name"));
}

TEST(ProbeTest, ABatchSystemThatIsNotSupportedYetIsMentioned) {
  auto answers = laptop();
  answers.other_batch = "LSF";
  EXPECT_THAT(write(understand(answers), answers),
              HasSubstr("LSF is installed here, but not supported yet."));
}

TEST(ProbeTest, ThisMachineAnswers) {
  const auto answers = look();
  EXPECT_GE(answers.cores, 1);
  EXPECT_GT(answers.memory, 0u);
  EXPECT_NE(answers.architecture, "");
  const auto site = understand(answers, {"here", Batch::local, "/spool"});
  EXPECT_EQ(parse(write(site, answers), "site.toml"), site);
}

}  // namespace
}  // namespace longship::site
