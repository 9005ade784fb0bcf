// SPDX-License-Identifier: Apache-2.0
#include "launch/gpu_shares.h"

#include <gmock/gmock.h>

#include "expect.h"

namespace longship::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(GpuShares, WithoutAWordOfABatchSystemTheFirstOnesAreTaken) {
  EXPECT_THAT(gpus_given({}, 3), ElementsAre("0", "1", "2"));
  EXPECT_THAT(gpus_given({}, 0), IsEmpty());
}

TEST(GpuShares, WhatWasGivenIsRespected) {
  EXPECT_THAT(gpus_given({{"CUDA_VISIBLE_DEVICES", "2,3"}, {"SLURM_JOB_GPUS", "0"}}, 4),
              ElementsAre("2", "3"));
  EXPECT_THAT(gpus_given({{"SLURM_JOB_GPUS", "0-2,5"}}, 4), ElementsAre("0", "1", "2", "5"));
  EXPECT_THAT(gpus_given({{"SLURM_STEP_GPUS", "1"}, {"SLURM_JOB_GPUS", "0-3"}}, 4), ElementsAre("1"));
  EXPECT_THAT(gpus_given({{"CUDA_VISIBLE_DEVICES", "GPU-8f3a-1,MIG-2"}}, 2),
              ElementsAre("GPU-8f3a-1", "MIG-2"));
  EXPECT_THAT(gpus_given({{"CUDA_VISIBLE_DEVICES", ""}}, 2), IsEmpty());
  EXPECT_THAT(gpus_given({{"CUDA_VISIBLE_DEVICES", "NoDevFiles"}}, 2), IsEmpty());
}

// Where a process sees only its own, CUDA counts from 0, and the vendor's files from the node's first.
TEST(GpuShares, TheNodesOwnNumbersAreSlurms) {
  EXPECT_THAT(gpus_of_node({{"CUDA_VISIBLE_DEVICES", "0,1"}, {"SLURM_JOB_GPUS", "2,3"}}, 2),
              ElementsAre("2", "3"));
}

TEST(GpuShares, EachRankHasItsOwn) {
  const std::vector<std::string> given = {"4", "5", "6", "7"};
  EXPECT_THAT(gpus_of_rank(given, 0, 2, false), ElementsAre("4", "5"));
  EXPECT_THAT(gpus_of_rank(given, 1, 2, false), ElementsAre("6", "7"));
  EXPECT_THAT(message_of([&] { (void)gpus_of_rank(given, 2, 2, false); }),
              HasSubstr("rank 2 of this node is to have 2 GPUs, and all that was given here are 4, 5, 6, 7"));
  EXPECT_THAT(message_of([&] { (void)gpus_of_rank({}, 0, 1, false); }),
              HasSubstr("all that was given here are none"));
}

TEST(GpuShares, ATaskThatWasGivenItsOwnKeepsThem) {
  EXPECT_THAT(gpus_of_rank({"3"}, 3, 1, true), ElementsAre("3"));
  EXPECT_THAT(message_of([&] { (void)gpus_of_rank({"3"}, 3, 1, false); }), HasSubstr("rank 3"));
}

TEST(GpuShares, EveryMakersVariableIsSet) {
  const auto variables = variables_for({"2", "3"});
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"})
    EXPECT_EQ(variables.at(name), "2,3");
}

}  // namespace
}  // namespace longship::launch
