// SPDX-License-Identifier: Apache-2.0
#include "pilot/surroundings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace longship::pilot {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

TEST(SurroundingsTest, ListsOfNodesAreExpanded) {
  EXPECT_THAT(expand_nodes("n1"), ElementsAre("n1"));
  EXPECT_THAT(expand_nodes("n[1-3],login"), ElementsAre("n1", "n2", "n3", "login"));
  EXPECT_THAT(expand_nodes("n[08-10,2]-ib,x"), ElementsAre("n08-ib", "n09-ib", "n10-ib", "n2-ib", "x"));
}

TEST(SurroundingsTest, WhatIsNoListOfNodesIsAnError) {
  for (const auto* list :
       {"", ",", "n[", "n]", "n[]", "n[a]", "n[3-1]", "n[1-99999999999]", "n[1]][", "n[1-2][3]"})
    EXPECT_THROW((void)expand_nodes(list), Error) << list;
}

TEST(SurroundingsTest, NodesAreThoseOfTheAllocationOrThisMachine) {
  EXPECT_THAT(nodes_of({{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "n[1-2]"}}), ElementsAre("n1", "n2"));
  EXPECT_EQ(nodes_of({{"SLURM_JOB_NODELIST", "n[1-2]"}}).size(), 1u);
}

TEST(SurroundingsTest, TheBatchSystemKnowsBestWhenTheAllocationEnds) {
  const std::chrono::system_clock::time_point now(1000s);
  EXPECT_EQ(time_left(0s, {}, now), std::nullopt);
  EXPECT_EQ(time_left(60s, {}, now), 60s);
  EXPECT_EQ(time_left(60s, {{"SLURM_JOB_END_TIME", "1050"}}, now), 50s);
  EXPECT_EQ(time_left(60s, {{"SLURM_JOB_END_TIME", "2000"}}, now), 60s);
  EXPECT_EQ(time_left(0s, {{"SLURM_JOB_END_TIME", "2000"}}, now), 1000s);
  EXPECT_EQ(time_left(0s, {{"SLURM_JOB_END_TIME", "soon"}}, now), std::nullopt);
  EXPECT_EQ(time_left(0s, {{"SLURM_JOB_END_TIME", "4294967295"}}, now), std::nullopt);
}

}  // namespace
}  // namespace longship::pilot
