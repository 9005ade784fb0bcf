// SPDX-License-Identifier: Apache-2.0
#include "base/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "expect.h"

namespace longship {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Command shell(std::string script) {
  Command command;
  command.arguments = {"sh", "-c", std::move(script)};
  return command;
}

TEST(ProcessTest, OutputErrorsAndCodeAreCaptured) {
  const auto outcome = run(shell("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(outcome.output, "out\n");
  EXPECT_EQ(outcome.errors, "err\n");
  EXPECT_EQ(outcome.ending.code, 3);
  EXPECT_EQ(outcome.ending.sentence(), "exited with code 3");
}

TEST(ProcessTest, ArgumentsArriveUnchanged) {
  Command command;
  command.arguments = {"printf", "%s|", "a b", "$HOME", "'", "", "\n"};
  EXPECT_EQ(output_of(command), "a b|$HOME|'||\n|");
}

TEST(ProcessTest, InputIsGivenAndEnds) {
  const std::string text(300'000, 'x');  // more than a pipe holds, in both directions
  Command command;
  command.arguments = {"cat"};
  EXPECT_EQ(output_of(command, {.input = text}), text);
}

TEST(ProcessTest, ProgramThatDoesNotReadItsInputIsNoProblem) {
  EXPECT_TRUE(run(shell("exit 0"), {.input = std::string(300'000, 'x')}).ending.ok());
}

TEST(ProcessTest, EnvironmentIsExactlyWhatWasGiven) {
  Command command;
  command.arguments = {"/usr/bin/env"};
  command.environment = Environment{{"A", "1"}, {"B", "two words"}};
  EXPECT_EQ(output_of(command), "A=1\nB=two words\n");
}

TEST(ProcessTest, DirectoryIsWhereItRuns) {
  const TemporaryDirectory home;
  Command command;
  command.arguments = {"pwd"};
  command.directory = home.path();
  EXPECT_EQ(output_of(command), home.path().string() + "\n");
}

TEST(ProcessTest, MissingProgramIsNamed) {
  Command command;
  command.arguments = {"no-such-program"};
  EXPECT_EQ(message_of([&] { (void)run(command); }), "cannot run no-such-program: No such file or directory");
}

TEST(ProcessTest, FailureTellsTheLastLine) {
  EXPECT_EQ(message_of([] { (void)output_of(shell("echo first >&2; echo last >&2; exit 4")); }),
            "sh exited with code 4: last");
}

TEST(ProcessTest, SignalIsNamed) {
  const auto outcome = run(shell("kill -SEGV $$"));
  EXPECT_EQ(outcome.ending.signal, SIGSEGV);
  EXPECT_EQ(outcome.ending.exit_code(), 128 + SIGSEGV);
  EXPECT_EQ(outcome.ending.sentence(), "was killed by SIGSEGV");
}

TEST(ProcessTest, TimeoutEndsTheWholeGroup) {
  const auto outcome = run(shell("sleep 1000 & echo $!; wait"), {.timeout = 200ms});
  EXPECT_TRUE(outcome.timed_out);
  const pid_t grandchild = std::stoi(outcome.output);
  // It is not ours to reap; but it must be gone, or about to be: wait for the kernel to finish it.
  for (int i = 0; i < 500 && ::kill(grandchild, 0) == 0; ++i) ::usleep(10'000);
  EXPECT_NE(::kill(grandchild, 0), 0);
}

TEST(ProcessTest, ProgramThatIgnoresTerminationIsKilled) {
  const auto outcome = run(shell("trap '' TERM; while :; do sleep 0.1; done"), {.timeout = 100ms});
  EXPECT_TRUE(outcome.timed_out);
  EXPECT_EQ(outcome.ending.signal, SIGKILL);
}

TEST(ProcessTest, GrandchildThatKeepsThePipesDoesNotHoldUsUp) {
  const auto outcome = run(shell("echo done; sleep 5 & exit 0"), {.timeout = 60s});
  EXPECT_EQ(outcome.output, "done\n");
  EXPECT_FALSE(outcome.timed_out);
}

TEST(ProcessTest, OutputBeyondTheLimitIsDropped) {
  const auto outcome = run(shell("head -c 100000 /dev/zero"), {.output_limit = 1000});
  EXPECT_EQ(outcome.output.size(), 1000u);
  EXPECT_TRUE(outcome.ending.ok());
}

TEST(ProcessTest, DestructorEndsWhatStillRuns) {
  pid_t pid = -1;
  {
    const Process process(shell("sleep 1000"));
    pid = process.pid();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_NE(::kill(pid, 0), 0);
}

TEST(ProcessTest, WaitReturnsNothingWhileItRuns) {
  Process process(shell("sleep 1000"));
  EXPECT_EQ(process.wait(10ms), std::nullopt);
  process.signal(SIGTERM);
  const auto ending = process.wait();
  ASSERT_TRUE(ending);
  EXPECT_EQ(ending->signal, SIGTERM);
  EXPECT_EQ(process.wait()->signal, SIGTERM);  // asking again is harmless
}

TEST(ProcessTest, DescriptorsDoNotLeakIntoTheChild) {
  const Fd ours = open_file("/dev/null", 0);
  const auto there = fmt::format("test -e /proc/$$/fd/{}", ours.get());
  EXPECT_EQ(run(shell(there)).ending.code, 1);
}

TEST(ProcessTest, FindProgramLooksAsExecDoes) {
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
  EXPECT_TRUE(find_program("sh"));
  EXPECT_FALSE(find_program("no-such-program"));
  EXPECT_FALSE(find_program("/etc/passwd"));
}

}  // namespace
}  // namespace longship
