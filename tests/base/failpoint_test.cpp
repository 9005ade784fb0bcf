// SPDX-License-Identifier: Apache-2.0
// The points are read when a process starts, so each test starts this program again with the variable set;
// what runs there is the first of them.
#include "base/failpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"

namespace longship {
namespace {

using testing::HasSubstr;
using testing::Not;

// Says where it is, on the way through "first", "second" and "second" again.
TEST(FailpointTest, TheProgramOfTheOthers) {
  for (const char* point : {"test.first", "test.second", "test.second"}) {
    write_all(STDOUT_FILENO, fmt::format("<before {}>", point));
    try {
      failpoint(point);
      write_all(STDOUT_FILENO, "<passed>");
    } catch (const Error& error) {
      write_all(STDOUT_FILENO, fmt::format("<{}>", error.what()));
    }
  }
}

Command program(const std::string& points, const std::string& marks = {}) {
  Command command;
  command.arguments = {std::filesystem::read_symlink("/proc/self/exe"),
                       "--gtest_filter=FailpointTest.TheProgramOfTheOthers"};
  command.environment = current_environment();
  command.environment->erase("LONGSHIP_FAILPOINTS");
  command.environment->erase("LONGSHIP_FAILPOINT_MARKS");
  if (!points.empty()) command.environment->insert_or_assign("LONGSHIP_FAILPOINTS", points);
  if (!marks.empty()) command.environment->insert_or_assign("LONGSHIP_FAILPOINT_MARKS", marks);
  return command;
}

constexpr const char* all_passed =
    "<before test.first><passed><before test.second><passed><before test.second><passed>";

TEST(FailpointTest, NothingHappensWhereTheVariableIsNotSet) {
  const auto outcome = run(program(""));
  EXPECT_EQ(outcome.ending.code, 0);
  EXPECT_THAT(outcome.output, HasSubstr(all_passed));
}

TEST(FailpointTest, APointThatIsNotNamedIsPassed) {
  EXPECT_THAT(run(program("test.third=kill,,test.second,=kill")).output, HasSubstr(all_passed));
}

TEST(FailpointTest, KillEndsTheProcessThere) {
  const auto outcome = run(program("test.second=kill"));
  EXPECT_EQ(outcome.ending.sentence(), "was killed by SIGKILL");
  EXPECT_THAT(outcome.output, HasSubstr("<before test.first><passed><before test.second>"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("<before test.second><passed>")));
}

TEST(FailpointTest, OnlyTheSecondPassActs) {
  const auto outcome = run(program("test.second=fail:2"));
  EXPECT_EQ(outcome.ending.code, 0);
  EXPECT_THAT(outcome.output,
              HasSubstr("<before test.second><passed><before test.second><failpoint test.second>"));
}

TEST(FailpointTest, FailIsAnErrorOnceAndSeveralPointsMayBeSet) {
  EXPECT_THAT(run(program("test.first=fail,test.second=fail")).output,
              HasSubstr("<before test.first><failpoint test.first>"
                        "<before test.second><failpoint test.second><before test.second><passed>"));
}

TEST(FailpointTest, WithMarksItActsOnceAmongAllProcesses) {
  char place[] = "/tmp/failpoint-XXXXXX";
  ASSERT_NE(::mkdtemp(place), nullptr);
  EXPECT_EQ(run(program("test.first=kill", place)).ending.sentence(), "was killed by SIGKILL");
  EXPECT_THAT(run(program("test.first=kill", place)).output, HasSubstr(all_passed));
  std::filesystem::remove_all(place);
}

TEST(FailpointTest, AStoppedProcessGoesOnWhenItIsToldTo) {
  Pipe out = make_pipe();
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(out.write.get(), STDOUT_FILENO);
    ::setenv("LONGSHIP_FAILPOINTS", "test.first=stop", 1);
    ::execl("/proc/self/exe", "failpoint", "--gtest_filter=FailpointTest.TheProgramOfTheOthers",
            static_cast<char*>(nullptr));
    ::_exit(127);
  }
  out.write.reset();
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  EXPECT_TRUE(WIFSTOPPED(status));
  ::kill(child, SIGCONT);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace longship
