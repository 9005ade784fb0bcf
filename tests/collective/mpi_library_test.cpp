// SPDX-License-Identifier: Apache-2.0
#include "collective/mpi_library.h"

#include <gmock/gmock.h>

#include <map>

#include "expect.h"

namespace longship::collective {
namespace {

Lookup environment(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(MpiLibrary, IsUsedOnlyIfAskedFor) {
  EXPECT_FALSE(wants_mpi(environment({{"OMPI_COMM_WORLD_SIZE", "2"}})));
  EXPECT_FALSE(wants_mpi(environment({{"LONGSHIP_TRANSPORT", "own"}})));
  EXPECT_TRUE(wants_mpi(environment({{"LONGSHIP_TRANSPORT", "mpi"}})));
  EXPECT_THAT(message_of([] {
                return wants_mpi(environment({{"LONGSHIP_TRANSPORT", "ucx"}}));
              }),
              testing::HasSubstr("LONGSHIP_TRANSPORT=ucx"));
}

TEST(MpiLibrary, TheFamilyIsThatOfTheLauncher) {
  EXPECT_EQ(mpi_family(environment({{"OMPI_COMM_WORLD_SIZE", "2"}})), "openmpi");
  EXPECT_EQ(mpi_family(environment({{"PMIX_RANK", "0"}})), "openmpi");
  EXPECT_EQ(mpi_family(environment({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}})), "mpich");
  EXPECT_EQ(mpi_family(environment({{"PMIX_RANK", "0"}, {"LONGSHIP_MPI", "mpich"}})), "mpich");
  EXPECT_THAT(message_of([] { return mpi_family(environment({})); }),
              testing::HasSubstr("no MPI has started this process"));
  EXPECT_THAT(message_of([] {
                return mpi_family(environment({{"LONGSHIP_MPI", "lam"}}));
              }),
              testing::HasSubstr("LONGSHIP_MPI=lam"));
}

TEST(MpiLibrary, AFileThatIsNoneIsNamed) {
  EXPECT_THAT(message_of([] { MpiLibrary("/nonexistent/liblongship-mpi-openmpi.so"); }),
              testing::HasSubstr("/nonexistent/liblongship-mpi-openmpi.so"));
}

}  // namespace
}  // namespace longship::collective
