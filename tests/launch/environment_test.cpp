// SPDX-License-Identifier: Apache-2.0
#include "launch/environment.h"

#include <gmock/gmock.h>

namespace longship::launch {
namespace {

using testing::Contains;
using testing::Key;
using testing::Not;
using testing::Pair;

Plan two_nodes() {
  Plan plan;
  plan.command = {"true"};
  plan.ranks = {2, 3};
  plan.secret = "5ec2e7";
  return plan;
}

const Rendezvous rendezvous{"10.0.0.1", 1111, 2222};

TEST(RankEnvironment, HasTheNamesOfTorchrun) {
  const auto variables = rank_environment(two_nodes(), {1, 2, "node2", 4}, rendezvous, {});
  for (const auto& [name, value] : Environment{{"RANK", "4"},
                                               {"WORLD_SIZE", "5"},
                                               {"LOCAL_RANK", "2"},
                                               {"LOCAL_WORLD_SIZE", "3"},
                                               {"GROUP_RANK", "1"},
                                               {"NODE_RANK", "1"},
                                               {"MASTER_ADDR", "10.0.0.1"},
                                               {"MASTER_PORT", "2222"},
                                               {"OMP_NUM_THREADS", "4"},
                                               {"LONGSHIP_NODE", "node2"},
                                               {"LONGSHIP_RENDEZVOUS", "10.0.0.1:1111"},
                                               {"LONGSHIP_SECRET", "5ec2e7"}})
    EXPECT_THAT(variables, Contains(Pair(name, value)));
  EXPECT_THAT(variables, Not(Contains(Key("LONGSHIP_RECORD"))));
}

TEST(RankEnvironment, OnlyRankZeroInheritsTheSocket) {
  const Environment outer = {{"LONGSHIP_RENDEZVOUS_FD", "9"}, {"LONGSHIP_RECORD", "/outer"}};
  EXPECT_THAT(rank_environment(two_nodes(), {0, 0, "n", 1, 5}, rendezvous, outer),
              Contains(Pair("LONGSHIP_RENDEZVOUS_FD", "5")));
  const auto other = rank_environment(two_nodes(), {0, 1, "n", 1}, rendezvous, outer);
  EXPECT_THAT(other, Not(Contains(Key("LONGSHIP_RENDEZVOUS_FD"))))
      << "an outer launch's must not shine through";
  EXPECT_THAT(other, Not(Contains(Key("LONGSHIP_RECORD"))));
}

TEST(RankEnvironment, ChosenStandsOverTheHostsButNotOverThePlace) {
  auto plan = two_nodes();
  plan.environment = {{"A", "chosen"}, {"RANK", "77"}};
  const auto variables = rank_environment(plan, {0, 0, "n", 1}, rendezvous, {{"A", "host"}, {"B", "host"}});
  EXPECT_THAT(variables, Contains(Pair("A", "chosen")));
  EXPECT_THAT(variables, Contains(Pair("B", "host")));
  EXPECT_THAT(variables, Contains(Pair("RANK", "0")));
}

TEST(RankEnvironment, NumberOfThreadsThatTheUserSetStands) {
  auto plan = two_nodes();
  const Environment host = {{"OMP_NUM_THREADS", "7"}};
  EXPECT_THAT(rank_environment(plan, {0, 0, "n", 2}, rendezvous, host),
              Contains(Pair("OMP_NUM_THREADS", "7")));
  plan.threads_per_rank = 2;
  EXPECT_THAT(rank_environment(plan, {0, 0, "n", 2}, rendezvous, host),
              Contains(Pair("OMP_NUM_THREADS", "2")));
}

TEST(PythonPath, OursComesFirst) {
  EXPECT_EQ(with_python_path("/ours", {}), "/ours");
  EXPECT_EQ(with_python_path("/ours", {{"PYTHONPATH", "/theirs"}}), "/ours:/theirs");
}

}  // namespace
}  // namespace longship::launch
