// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "box/box.h"

namespace longship::box {
namespace {

using testing::Contains;
using testing::Key;
using testing::Not;
using testing::Pair;

TEST(EnvironmentTest, BatchSystemAndLauncherAreKept) {
  const Environment host = {
      {"SLURM_JOB_ID", "7"},    {"PMI_RANK", "1"}, {"PMIX_NAMESPACE", "x"}, {"OMPI_COMM_WORLD_RANK", "1"},
      {"LSB_JOBID", "9"},       {"RANK", "3"},     {"MASTER_ADDR", "n1"},   {"CUDA_VISIBLE_DEVICES", "0"},
      {"OMP_NUM_THREADS", "2"}, {"LC_ALL", "C"},   {"https_proxy", "p"},    {"HOME", "/home/a"}};
  const auto boxed = boxed_environment({}, host, {});
  for (const auto& variable : host) EXPECT_THAT(boxed, Contains(variable));
}

TEST(EnvironmentTest, LibrariesOfTheHostAreNot) {
  const auto boxed = boxed_environment({},
                                       {{"LD_PRELOAD", "x"},
                                        {"LD_LIBRARY_PATH", "/opt"},
                                        {"PYTHONPATH", "/host"},
                                        {"PATH", "/host"},
                                        {"EDITOR", "vi"}},
                                       {});
  EXPECT_THAT(boxed, Not(Contains(Key("LD_PRELOAD"))));
  EXPECT_THAT(boxed, Not(Contains(Key("LD_LIBRARY_PATH"))));
  EXPECT_THAT(boxed, Not(Contains(Key("EDITOR"))));
  EXPECT_THAT(boxed, Contains(Pair("PYTHONPATH", "/opt/longship/python")));
  EXPECT_THAT(boxed, Contains(Pair("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")));
}

TEST(EnvironmentTest, ImageGivesItsOwnAndTheUserHasTheLastWord) {
  const auto boxed =
      boxed_environment({{"PATH", "/venv/bin:/bin"}, {"LANG", "C"}, {"A", "image"}, {"PYTHONPATH", "/app"}},
                        {{"LANG", "de"}, {"A", "host"}, {"RANK", "0"}}, {{"RANK", "5"}, {"LD_PRELOAD", "y"}});
  EXPECT_THAT(boxed, Contains(Pair("PATH", "/venv/bin:/bin")));
  EXPECT_THAT(boxed, Contains(Pair("LANG", "de")));
  EXPECT_THAT(boxed, Contains(Pair("A", "image")));
  EXPECT_THAT(boxed, Contains(Pair("RANK", "5")));
  EXPECT_THAT(boxed, Contains(Pair("LD_PRELOAD", "y")));
  EXPECT_THAT(boxed, Contains(Pair("PYTHONPATH", "/app:/opt/longship/python")));
  EXPECT_THAT(boxed, Contains(Pair("LONGSHIP_IN_BOX", "1")));
}

TEST(EnvironmentTest, APatternIsABeginningAndNotAPart) {
  const auto boxed = boxed_environment({}, {{"MY_SLURM_X", "1"}, {"RANKS", "1"}}, {});
  EXPECT_THAT(boxed, Not(Contains(Key("MY_SLURM_X"))));
  EXPECT_THAT(boxed, Not(Contains(Key("RANKS"))));
}

}  // namespace
}  // namespace longship::box
