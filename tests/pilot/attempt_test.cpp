// SPDX-License-Identifier: Apache-2.0
#include "pilot/attempt.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

namespace longship::pilot {
namespace {

namespace fs = std::filesystem;

// Starts an attempt in a child, which says when it is ready and then waits to be killed.
pid_t attempt_in_child(const fs::path& runs) {
  Pipe ready = make_pipe();
  const pid_t child = ::fork();
  if (child == 0) {
    Attempt attempt(runs, "digits");
    attempt.make_places();
    write_file(attempt.work() / "f", "x");
    write_all(ready.write.get(), "!");
    for (;;) ::pause();
  }
  char byte = 0;
  EXPECT_EQ(::read(ready.read.get(), &byte, 1), 1);
  return child;
}

void kill_and_reap(pid_t child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(AttemptTest, RunsAreNumbered) {
  const TemporaryDirectory home;
  const Attempt first(home.path() / "runs", "digits"), second(home.path() / "runs", "digits");
  const Attempt other(home.path() / "runs", "gan");
  EXPECT_EQ(first.name(), "digits-1");
  EXPECT_EQ(second.name(), "digits-2");
  EXPECT_EQ(other.name(), "gan-1");
}

TEST(AttemptTest, SimilarNamesAreNotConfused) {
  const TemporaryDirectory home;
  fs::create_directories(home.path() / "digits-7-x");
  fs::create_directories(home.path() / "digits-x");
  fs::create_directories(home.path() / "digits-3");
  EXPECT_EQ(Attempt(home.path(), "digits").name(), "digits-4");
}

TEST(AttemptTest, SpoolIsPrivate) {
  const TemporaryDirectory home;
  const Attempt attempt(home.path(), "digits");
  struct stat about {};
  ASSERT_EQ(::stat(attempt.spool().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777u, 0700u);
}

TEST(AttemptTest, NothingStaysWhereNothingWasKept) {
  const TemporaryDirectory home;
  { const Attempt attempt(home.path(), "digits"); }
  EXPECT_TRUE(fs::is_empty(home.path()));
}

TEST(AttemptTest, WhatWasKeptStaysAndTheSpoolGoes) {
  const TemporaryDirectory home;
  {
    Attempt attempt(home.path(), "digits");
    attempt.make_places();
    write_file(attempt.result(), "{}");
  }
  EXPECT_TRUE(fs::exists(home.path() / "digits-1" / "result.json"));
  EXPECT_FALSE(fs::exists(home.path() / "digits-1" / ".spool"));
}

TEST(AttemptTest, AfterKillTheGuardRemovesTheSpool) {
  const TemporaryDirectory home;
  kill_and_reap(attempt_in_child(home.path()));
  const fs::path spool = home.path() / "digits-1" / ".spool";
  for (int i = 0; i < 1000 && fs::exists(spool); ++i) ::usleep(10'000);
  EXPECT_FALSE(fs::exists(spool));
}

TEST(AttemptTest, SpoolOfALivingAttemptIsLeftAlone) {
  const TemporaryDirectory home;
  const pid_t child = attempt_in_child(home.path());
  remove_abandoned(home.path());
  EXPECT_TRUE(fs::exists(home.path() / "digits-1" / ".spool" / "work" / "f"));
  kill_and_reap(child);
}

TEST(AttemptTest, AbandonedSpoolIsRemovedByTheNextRun) {
  const TemporaryDirectory home;
  fs::create_directories(home.path() / "digits-1" / ".spool" / "work");
  write_file(home.path() / "digits-1" / ".spool" / "lock", "");
  const Attempt next(home.path(), "digits");
  EXPECT_EQ(next.name(), "digits-1");  // the number is free again: nothing had been kept
  EXPECT_FALSE(fs::exists(home.path() / "digits-1" / ".spool" / "work"));
}

}  // namespace
}  // namespace longship::pilot
