// SPDX-License-Identifier: Apache-2.0
// A launcher and its helpers for real, without a batch system: this test program is the helper too.
#include "launch/across.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "expect.h"
#include "launch/reception.h"

namespace longship::launch {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

std::vector<std::string> shell(const std::string& script) {
  return {"/bin/sh", "-c", script, fs::read_symlink("/proc/self/exe").string()};
}
// $0 is this program. What srun does with its input, tee does: all helpers get all of it.
const char* two_nodes =
    "export LONGSHIP_TEST_HELPER=1; at=$(mktemp -d); mkfifo $at/0 $at/1; exec 3<&0; tee $at/0 $at/1 <&3 "
    ">/dev/null & "
    "tee=$!; SLURM_NODEID=0 $0 <$at/0 & first=$!; SLURM_NODEID=1 $0 <$at/1; wait $first; kill $tee; rm -r "
    "$at";
const char* two_tasks =
    "export LONGSHIP_TEST_HELPER=1; PMI_RANK=1 $0 </dev/null & PMI_RANK=0 $0 </dev/null; wait";

struct Launched {
  Result result;
  std::string output;  // of all ranks, from their files
};

Plan plan_for(const std::string& script, std::vector<int> ranks) {
  Plan plan;
  plan.command = {"/bin/sh", "-c", script};
  plan.ranks = std::move(ranks);
  plan.secret = make_secret();
  return plan;
}

class AcrossTest : public testing::Test {
 protected:
  Launched launch(Plan plan, Starter starter) {
    plan.output = directory_.path();
    Interruptions interruptions;
    Screen screen({});
    Surroundings around{interruptions, screen, nullptr};
    around.checkpoint = [&] { return checkpoint; };
    Launched launched{run_helpers(plan, starter, screen, around), {}};
    for (int rank = 0; rank < plan.size(); ++rank)
      launched.output += read_file(directory_.path() / fmt::format("rank-{:05}.out", rank));
    return launched;
  }
  // Each helper comes to a socket.
  Launched launch_tasks(Plan plan) {
    plan.mpi = true;
    const Reception reception;
    return launch(plan, {shell(two_tasks), reception.socket.get(), reception.name});
  }

  bool checkpoint = false;
  TemporaryDirectory directory_;
};

constexpr const char* until_asked =
    "until [ $(od -An -tu4 -j12 -N4 $LONGSHIP_CONTROL) -gt 0 ]; do sleep 0.02; done; echo $RANK of "
    "$WORLD_SIZE "
    "asked";

TEST_F(AcrossTest, TheWordForACheckpointReachesTheRanksOfAllNodes) {
  checkpoint = true;
  const auto launched = launch(plan_for(until_asked, {1, 1}), {shell(two_nodes)});
  EXPECT_EQ(launched.result.exit_code, 0);
  EXPECT_EQ(launched.output, "0 of 2 asked\n1 of 2 asked\n");
}

TEST_F(AcrossTest, TheWordForACheckpointReachesTheTasksOfAnMpiLauncher) {
  checkpoint = true;
  const auto launched = launch_tasks(plan_for(until_asked, {2}));
  EXPECT_EQ(launched.result.exit_code, 0);
  EXPECT_EQ(launched.output, "0 of 2 asked\n1 of 2 asked\n");
}

// srun cuts the last kilobytes of a task that ends in pieces without regard to lines, amid those of other
// tasks.
TEST_F(AcrossTest, NoHelperEndsBeforeAllHaveSaidAll) {
  const auto file = (directory_.path() / "helper").string();
  const auto script = "if [ $RANK = 0 ]; then ps -o ppid= -p $PPID > " + file + ".new; mv " + file + ".new " +
                      file + "; exit; fi; until [ -e " + file +
                      " ]; do sleep 0.02; done; sleep 0.5; "
                      "kill -0 $(cat " +
                      file + ") && echo still there";
  const auto launched = launch(plan_for(script, {1, 1}), {shell(two_nodes)});
  EXPECT_EQ(launched.result.exit_code, 0);
  EXPECT_EQ(launched.output, "still there\n");
}

TEST_F(AcrossTest, AFailingTaskStopsTheOthersAndItsCodeCounts) {
  const auto launched = launch_tasks(plan_for("[ $RANK = 1 ] && exit 6; exec sleep 600", {2}));
  EXPECT_EQ(launched.result.exit_code, 6);
  ASSERT_TRUE(launched.result.failure);
  EXPECT_EQ(launched.result.failure->rank, 1);
}

TEST_F(AcrossTest, TasksShareTheCoresOfTheirNode) {
  const auto launched = launch_tasks(plan_for("echo $LOCAL_RANK $LOCAL_WORLD_SIZE $OMP_NUM_THREADS", {2}));
  const auto lines = split(trim(launched.output), '\n');
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(std::string(lines[0]), testing::StartsWith("0 2 "));
  EXPECT_THAT(std::string(lines[1]), testing::StartsWith("1 2 "));
}

}  // namespace
}  // namespace longship::launch

// Instead of gtest's own: a process with this variable is a helper.
int main(int count, char** words) {
  if (std::getenv("LONGSHIP_TEST_HELPER") != nullptr) return longship::launch::help();
  testing::InitGoogleMock(&count, words);
  return RUN_ALL_TESTS();
}
