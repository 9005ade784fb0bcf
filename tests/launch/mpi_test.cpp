// SPDX-License-Identifier: Apache-2.0
// What starts the ranks of an MPI program; tests/system/test_mpi.py starts real ones.
#include "launch/mpi.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include "base/file.h"
#include "expect.h"

namespace longship::launch {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
namespace fs = std::filesystem;

TEST(Mpi, PluginsOfSrunAreFoundInItsList) {
  EXPECT_THAT(detail::plugins_in("MPI plugin types are...\n\tcray_shasta\n\tnone\n\tpmi2\n\tpmix\n"
                                 "specific pmix plugin versions available: pmix_v3, pmix_v4\n"),
              ElementsAre("cray_shasta", "pmi2", "pmix", "pmix_v3", "pmix_v4"));
  EXPECT_THAT(detail::plugins_in("srun: MPI types are...\nsrun: pmi2\nsrun: none\n"), ElementsAre("pmi2"));
  EXPECT_THAT(detail::plugins_in("sh: srun: not found"), IsEmpty());
}

TEST(Mpi, FamilyOfALauncherIsInItsVersion) {
  EXPECT_EQ(detail::family_in("mpirun (Open MPI) 4.1.4\n"), "openmpi");
  EXPECT_EQ(detail::family_in("HYDRA build details:\n    Version:     4.0.2\n"), "mpich");
  EXPECT_EQ(detail::family_in("no such thing"), "");
}

TEST(Mpi, EachRankIsATaskOfSrun) {
  Plan plan;
  plan.ranks = {2, 2};
  const auto words = detail::srun_for_mpi(plan, "pmix", {"longship", "launch"});
  for (const char* word :
       {"--nodes=2", "--ntasks=4", "--ntasks-per-node=2", "--mpi=pmix", "--distribution=block"})
    EXPECT_THAT(words, Contains(word));
  EXPECT_EQ(words.back(), "launch");
  plan.ranks = {2, 1};
  const auto uneven = detail::srun_for_mpi(plan, "", {"longship"});
  EXPECT_THAT(uneven, Contains("--ntasks=3"));
  EXPECT_THAT(uneven, Not(Contains(HasSubstr("per-node"))));
  EXPECT_THAT(uneven, Not(Contains(HasSubstr("--mpi"))));
}

TEST(Mpi, RootMayStartOpenMpi) {
  EXPECT_THAT(detail::mpiexec("mpirun", "openmpi", 4, true), Contains("--allow-run-as-root"));
  EXPECT_THAT(detail::mpiexec("mpirun", "openmpi", 4, false), Not(Contains("--allow-run-as-root")));
  EXPECT_THAT(detail::mpiexec("mpiexec", "mpich", 4, true), ElementsAre("mpiexec", "-n", "4"));
}

// An allocation in which srun is a script of ours.
class MpiInAllocation : public testing::Test {
 protected:
  MpiInAllocation() {
    write_file(directory_.path() / "srun", "#!/bin/sh\n[ \"$1\" = --mpi=list ] && echo none pmi2; exit 7\n");
    fs::permissions(directory_.path() / "srun", fs::perms(0755));
    before_ = ::getenv("PATH");
    ::setenv("PATH", (directory_.path().string() + ":" + before_).c_str(), 1);
    ::setenv("SLURM_JOB_ID", "1", 1);
  }
  ~MpiInAllocation() override {
    ::setenv("PATH", before_.c_str(), 1);
    ::unsetenv("SLURM_JOB_ID");
  }
  std::string message(const std::string& mpi) {
    Interruptions interruptions;
    Screen screen({});
    Surroundings around{interruptions, screen, nullptr};
    Plan plan;
    plan.command = {"true"};
    return message_of([&] { (void)run_mpi(plan, mpi, {"helper"}, screen, around); });
  }
  TemporaryDirectory directory_;
  std::string before_;
};

TEST_F(MpiInAllocation, AnMpiThatSrunDoesNotSpeakIsRefusedWithTheRemedy) {
  const auto text = message("openmpi 4.1.4");
  EXPECT_THAT(text, HasSubstr("Open MPI needs a launcher that speaks pmix, and srun offers only pmi2"));
  EXPECT_THAT(text, HasSubstr("use an image with MPICH"));
}

TEST_F(MpiInAllocation, ALauncherThatFailsBeforeAnyRankIsAnError) {
  EXPECT_THAT(message("mpich 4.0.2"), HasSubstr("srun exited with code 7 before all ranks had ended"));
}

}  // namespace
}  // namespace longship::launch
