// SPDX-License-Identifier: Apache-2.0
#include "launch/limits.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <cerrno>

#include "base/fd.h"

namespace longship::launch {
namespace {

using testing::HasSubstr;

TEST(Limits, RanksThatFitAreNotSpokenOf) {
  EXPECT_EQ(lack_of_files({1024, 4096, 8}, 246, false), std::nullopt);
  EXPECT_EQ(lack_of_files({1024, 4096, 8}, 164, true), std::nullopt);
  EXPECT_EQ(lack_of_files({RLIM_INFINITY, RLIM_INFINITY, 8}, 1'000'000, true), std::nullopt);
}

TEST(Limits, TooManyRanksAreToldHowManyFitAndWhatToDo) {
  EXPECT_EQ(
      lack_of_files({1024, 4096, 8}, 247, false).value(),
      "247 ranks are too many for this node: each takes 4 open files of its launcher, and with a limit of "
      "1024 (RLIMIT_NOFILE) 246 ranks fit; raise it with `ulimit -n 1028`");
  EXPECT_THAT(
      lack_of_files({1024, 4096, 8}, 100'000, true).value(),
      HasSubstr("each takes 6 open files of its launcher, and with a limit of 1024 (RLIMIT_NOFILE) 164 "
                "ranks fit; 676 fit after `ulimit -n 4096`, the hard limit; for more use more nodes"));
  EXPECT_THAT(lack_of_files({1024, 1024, 8}, 100'000, false).value(),
              HasSubstr("246 ranks fit; the hard limit is no higher: use more nodes, or have it raised"));
  EXPECT_THAT(lack_of_files({16, 16, 8}, 1, false).value(), HasSubstr(" 0 ranks fit"));
}

TEST(Limits, WhatIsOpenIsCounted) {
  const auto before = open_files_of_this_process();
  const auto pipe = make_pipe();
  const auto after = open_files_of_this_process();
  EXPECT_GT(before.limit, 0u);
  EXPECT_GE(before.hard_limit, before.limit);
  EXPECT_EQ(after.open, before.open + 2);
}

TEST(Limits, AForkThatFailsSaysAfterHowManyAndWhichLimitItMayBe) {
  const auto limited = cannot_fork(EAGAIN, 340, 1000);
  EXPECT_THAT(limited.what(),
              HasSubstr("1000 ranks are too many for this node: after 340 no further process"));
  EXPECT_THAT(limited.what(), HasSubstr("`ulimit -u`), by pids.max of a control group"));
  EXPECT_EQ(limited.failure(), Failure::impossible);
  EXPECT_STREQ(cannot_fork(ENOMEM, 340, 1000).what(),
               "cannot start rank 341 of 1000 here: Cannot allocate memory");
}

}  // namespace
}  // namespace longship::launch
