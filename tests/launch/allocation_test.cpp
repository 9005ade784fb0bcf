// SPDX-License-Identifier: Apache-2.0
#include "launch/allocation.h"

#include <gmock/gmock.h>

#include "expect.h"

namespace longship::launch {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(Allocation, NoneOutsideOfABatchSystem) {
  EXPECT_FALSE(current_allocation({{"PATH", "/bin"}}));
}

TEST(Allocation, UnderSallocNeedsSrunEvenForOneNode) {
  const auto found = current_allocation({{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_NUM_NODES", "1"}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->job, "12");
  EXPECT_FALSE(found->here);
}

TEST(Allocation, BatchScriptIsOnItsOnlyNode) {
  EXPECT_TRUE(
      current_allocation({{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_NUM_NODES", "1"}, {"SLURMD_NODENAME", "n1"}})
          ->here);
}

TEST(Allocation, SeveralNodesAreNeverHere) {
  const auto found =
      current_allocation({{"SLURM_JOB_ID", "12"}, {"SLURM_NNODES", "3"}, {"SLURMD_NODENAME", "n1"}});
  EXPECT_EQ(found->nodes, 3);
  EXPECT_FALSE(found->here);
}

TEST(Allocation, NumberThatIsNoneIsAnError) {
  EXPECT_THAT(message_of([] {
                (void)current_allocation({{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_NUM_NODES", "2x"}});
              }),
              HasSubstr("SLURM_JOB_NUM_NODES is \"2x\""));
}

TEST(StartOnNodes, IsOneTaskPerNodeBesideOthers) {
  const auto command = start_on_nodes(3, {"/opt/longship", "launch", "--node-helper"});
  EXPECT_EQ(command.front(), "srun");
  EXPECT_EQ(command.back(), "--node-helper");
  for (const auto* word : {"--overlap", "--nodes=3", "--ntasks=3", "--ntasks-per-node=1"})
    EXPECT_THAT(command, Contains(word));
}

}  // namespace
}  // namespace longship::launch
