// SPDX-License-Identifier: Apache-2.0
#include "base/turns.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <thread>

namespace longship {
namespace {

int niceness() {
  return ::getpriority(PRIO_PROCESS, 0);
}

TEST(TurnsTest, WhoGivesWayDoesSoForItselfAlone) {
  const int before = niceness();
  int after = before;
  std::thread([&] {
    give_way();
    after = niceness();
  }).join();
  EXPECT_GT(after, before);
  EXPECT_EQ(niceness(), before);
}

TEST(TurnsTest, WhoIsTheLastAlreadyStaysThat) {
  std::thread([] {
    for (int i = 0; i < 10; ++i) give_way();
    EXPECT_EQ(niceness(), 19);
  }).join();
}

TEST(TurnsTest, ShortTurnsAreNeitherMoreNorLessTime) {
  std::thread([] {
    const int policy = ::sched_getscheduler(0), before = niceness();
    take_short_turns();
    EXPECT_EQ(::sched_getscheduler(0), policy);
    EXPECT_EQ(niceness(), before);
  }).join();
}

}  // namespace
}  // namespace longship
