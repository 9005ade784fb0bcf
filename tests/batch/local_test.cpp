// SPDX-License-Identifier: Apache-2.0
// What is special about this machine as a batch system: its files, and what is left when processes are
// killed.
#include "batch/local.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "base/file.h"
#include "base/text.h"
#include "expect.h"

namespace longship::batch {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::HasSubstr;

struct LocalTest : testing::Test {
  ~LocalTest() override {
    Local local = opened();
    for (const auto& entry : fs::directory_iterator(state()))
      if (entry.is_directory()) {
        local.cancel(entry.path().filename());
        (void)after(entry.path().filename(), State::ended);
      }
  }
  [[nodiscard]] fs::path state() const { return directory.path() / "state"; }
  [[nodiscard]] Local opened(Capacity capacity = {4, 1000, 2}) const {
    return {state(), capacity, milliseconds(200)};
  }
  [[nodiscard]] Pilot pilot(std::string name, int cores, const std::string& line = "sleep 600") const {
    Pilot pilot;
    pilot.name = std::move(name);
    pilot.queue = "local";
    pilot.cores = cores;
    pilot.output = directory.path() / "out";
    pilot.command = {"/bin/sh", "-c", line};
    return pilot;
  }
  [[nodiscard]] Report report(const std::string& name) const {
    Local local = opened();
    return local.report(std::span(&name, 1)).at(name);
  }
  [[nodiscard]] Report after(const std::string& name, State wanted) const {
    for (int i = 0; i < 1000; ++i) {
      if (report(name).state == wanted) break;
      std::this_thread::sleep_for(milliseconds(10));
    }
    return report(name);
  }
  [[nodiscard]] std::string said() const { return read_file(directory.path() / "out"); }
  void wait_until_said(const std::string& text) const {
    for (int i = 0; i < 1000; ++i) {
      if (fs::exists(directory.path() / "out") && said() == text) return;
      std::this_thread::sleep_for(milliseconds(10));
    }
    FAIL() << "never said " << text;
  }

  TemporaryDirectory directory{"longship-local"};
};

bool is_gone(pid_t pid) {
  for (int i = 0; i < 1000; ++i) {
    if (::kill(pid, 0) != 0) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

TEST_F(LocalTest, CoresAreCountedAndTheLineIsKept) {
  auto local = opened();
  local.submit(pilot("a", 3));
  local.submit(pilot("b", 2));
  local.submit(pilot("c", 1));  // would fit, but b was first
  EXPECT_EQ(report("a").state, State::running);
  EXPECT_EQ(report("b").state, State::queued);
  EXPECT_EQ(report("b").reason, "needs 2 cores, 1 of 4 are free (1 running)");
  EXPECT_EQ(report("c").reason, "1 before it; needs 1 cores, 1 of 4 are free (1 running)");
  local.cancel("a");
  EXPECT_EQ(after("a", State::ended).state, State::ended);
  EXPECT_EQ(report("b").state, State::running);
  EXPECT_EQ(report("c").state, State::running);
}

TEST_F(LocalTest, MemoryIsCounted) {
  auto local = opened();
  auto first = pilot("a", 1), second = pilot("b", 1);
  first.memory = 600;
  second.memory = 401;
  local.submit(first);
  local.submit(second);
  EXPECT_EQ(report("b").state, State::queued);
}

TEST_F(LocalTest, EachPilotHasItsOwnGpus) {
  auto local = opened();
  auto first = pilot("a", 1, "echo $CUDA_VISIBLE_DEVICES; sleep 600"), second = first;
  first.gpus = second.gpus = 1;
  second.name = "b";
  local.submit(first);
  wait_until_said("0\n");
  local.submit(second);
  wait_until_said("0\n1\n");
  auto third = pilot("c", 1, "echo none: $CUDA_VISIBLE_DEVICES");
  local.submit(third);
  wait_until_said("0\n1\nnone:\n");
}

TEST_F(LocalTest, MoreThanTheMachineHasIsRefused) {
  auto local = opened();
  EXPECT_EQ(message_of([&] { local.submit(pilot("a", 5)); }),
            "local: pilot a: it asks for 5 cores and 0 GPUs, and this machine has 4 and 2");
  auto large = pilot("b", 1);
  large.memory = 2000;
  EXPECT_EQ(message_of([&] { local.submit(large); }),
            "local: pilot b: it asks for 2.0 kB of memory, and this machine has 1.0 kB");
  auto wide = pilot("c", 1);
  wide.nodes = 2;
  EXPECT_EQ(message_of([&] { local.submit(wide); }),
            "local: pilot c: it asks for 2 nodes, and this machine is one");
}

TEST_F(LocalTest, ANameIsTakenOnce) {
  auto local = opened();
  local.submit(pilot("a", 1));
  EXPECT_EQ(message_of([&] { local.submit(pilot("a", 1)); }),
            "local: pilot a: there is a pilot of this name already");
}

TEST_F(LocalTest, ForgottenPilotIsUnknownNotEnded) {
  auto local = opened();
  local.submit(pilot("a", 1, "exit 0"));
  EXPECT_EQ(after("a", State::ended).state, State::ended);
  remove_tree(state() / "a");
  const std::string name = "a";
  EXPECT_EQ(local.report(std::span(&name, 1)).at(name).state, State::unknown);
}

TEST_F(LocalTest, HowItEndedIsToldAsItWas) {
  auto local = opened();
  local.submit(pilot("code", 1, "exit 3"));
  local.submit(pilot("signal", 1, "kill -SEGV $$"));
  EXPECT_EQ(after("code", State::ended).reason, "exited with code 3");
  EXPECT_EQ(report("code").exit_code, 3);
  EXPECT_EQ(after("signal", State::ended).reason, "was killed by SIGSEGV");
  EXPECT_EQ(report("signal").exit_code, 128 + SIGSEGV);
  auto missing = pilot("missing", 1);
  missing.command = {"/no/such/program"};
  local.submit(missing);
  EXPECT_EQ(after("missing", State::ended).reason, "could not be started: No such file or directory");
}

TEST_F(LocalTest, AfterItsWalltimeItIsStoppedWithGrace) {
  auto local = opened();
  auto asked = pilot("a", 1, "trap 'echo saved; exit 0' TERM; while :; do sleep 0.05; done");
  asked.walltime = std::chrono::seconds(1);
  local.submit(asked);
  EXPECT_EQ(after("a", State::ended).reason, "its walltime was over: exited with code 0");
  EXPECT_THAT(said(), HasSubstr("saved\n"));
}

TEST_F(LocalTest, WhatDoesNotListenIsKilledAfterTheGrace) {
  auto local = opened();
  local.submit(pilot("a", 1, "trap '' TERM; echo ready; while :; do sleep 0.05; done"));
  wait_until_said("ready\n");
  local.cancel("a");
  EXPECT_EQ(after("a", State::ended).reason, "cancelled: was killed by SIGKILL");
}

TEST_F(LocalTest, WhatAPilotLeavesBehindGoesWithIt) {
  auto local = opened();
  local.submit(pilot("a", 1, "setsid sh -c 'echo $$; exec sleep 600' & sleep 0.3"));
  EXPECT_EQ(after("a", State::ended).state, State::ended);
  EXPECT_TRUE(is_gone(std::stoi(said())));
}

TEST_F(LocalTest, APilotOutlivesWhoStartedIt) {
  const pid_t agent = ::fork();
  if (agent == 0) {
    opened().submit(pilot("a", 1));
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(agent, nullptr, 0);
  EXPECT_EQ(report("a").state, State::running);
}

TEST_F(LocalTest, APilotDiesWithItsSupervisorAndHasEnded) {
  auto local = opened();
  local.submit(pilot("a", 1, "echo $$; exec sleep 600"));
  for (int i = 0; i < 1000 && (!fs::exists(directory.path() / "out") || said().empty()); ++i)
    std::this_thread::sleep_for(milliseconds(10));
  ::kill(std::stoi(report("a").id), SIGKILL);
  EXPECT_EQ(after("a", State::ended).reason,
            "killed together with its supervisor, or the machine was restarted");
  EXPECT_TRUE(is_gone(std::stoi(said())));
}

TEST_F(LocalTest, ANumberThatAnotherProcessGotIsNotMistaken) {
  fs::create_directories(state());
  auto local = opened();
  local.submit(pilot("a", 1, "exit 0"));
  EXPECT_EQ(after("a", State::ended).state, State::ended);
  fs::remove(state() / "a" / "ended");
  std::this_thread::sleep_for(
      milliseconds(50));  // the kernel counts when processes started in hundredths of a second
  Command sleeping;
  sleeping.arguments = {"sleep", "600"};
  Process other(sleeping);
  auto process = read_file(state() / "a" / "process");
  process.replace(process.find("pid "), process.find('\n') - process.find("pid "),
                  fmt::format("pid {}", other.pid()));
  write_file(state() / "a" / "process", process);
  EXPECT_EQ(report("a").state, State::ended);
  EXPECT_EQ(message_of([&] { opened().cancel("a"); }), "(no error)");
  EXPECT_FALSE(other.wait(milliseconds(100)));  // it is not killed
}

TEST_F(LocalTest, APilotOfAnotherHostIsUnknown) {
  auto local = opened();
  local.submit(pilot("a", 1, "exit 0"));
  EXPECT_EQ(after("a", State::ended).state, State::ended);
  fs::remove(state() / "a" / "ended");
  write_file(state() / "a" / "process", "pid 1\nstart 1\nboot x\nhost elsewhere\n");
  EXPECT_EQ(report("a").state, State::unknown);
  EXPECT_EQ(report("a").reason, "it was started on host elsewhere");
  fs::remove_all(state() / "a");
}

TEST_F(LocalTest, AFileThatCannotBeReadMakesOnePilotUnknownAndNoOther) {
  auto local = opened();
  local.submit(pilot("good", 1));
  fs::create_directory(state() / "bad");
  write_file(state() / "bad" / "request.json", "{");
  fs::create_directory(state() / "empty");
  EXPECT_EQ(report("bad").state, State::unknown);
  EXPECT_THAT(report("bad").reason, HasSubstr("request.json"));
  EXPECT_EQ(report("empty").state, State::unknown);
  EXPECT_EQ(report("good").state, State::running);
  fs::remove_all(state() / "bad");
  fs::remove_all(state() / "empty");
}

TEST_F(LocalTest, WhatEndedLongAgoIsForgotten) {
  opened().submit(pilot("old", 1, "exit 0"));
  opened().submit(pilot("new", 1, "exit 0"));
  EXPECT_EQ(after("old", State::ended).state, State::ended);
  EXPECT_EQ(after("new", State::ended).state, State::ended);
  fs::last_write_time(state() / "old", fs::file_time_type::clock::now() - std::chrono::days(8));
  EXPECT_EQ(report("old").state, State::unknown);
  EXPECT_EQ(report("new").state, State::ended);
}

// Two processes at the same directory, as when an agent was replaced too early: each pilot runs once.
TEST_F(LocalTest, TwoProcessesStartEachPilotOnce) {
  std::vector<pid_t> agents;
  for (int agent = 0; agent < 2; ++agent) {
    agents.push_back(::fork());
    if (agents.back() == 0) {
      auto local = opened({2, 0, 0});
      for (int i = 0; i < 5; ++i) local.submit(pilot(fmt::format("p{}-{}", agent, i), 1, "echo x"));
      for (int i = 0; i < 100; ++i) {
        (void)local.report({});
        std::this_thread::sleep_for(milliseconds(5));
      }
      ::_exit(0);
    }
  }
  for (const pid_t agent : agents) ::waitpid(agent, nullptr, 0);
  for (int agent = 0; agent < 2; ++agent)
    for (int i = 0; i < 5; ++i) EXPECT_EQ(after(fmt::format("p{}-{}", agent, i), State::ended).exit_code, 0);
  EXPECT_EQ(said().size(), 20u);
}

// This program again as a process that a failpoint kills; LONGSHIP_FAILPOINTS is read when a process starts.
TEST_F(LocalTest, KilledBetweenAnyTwoStepsItLeavesWhatTheNextOneGoesOnWith) {
  for (const std::string point : {"batch.local.requested", "batch.local.forked", "batch.local.cancelling"}) {
    const auto name = point.substr(point.rfind('.') + 1);
    const pid_t agent = ::fork();
    if (agent == 0) {
      ::setenv("LONGSHIP_FAILPOINTS", (point + "=kill").c_str(), 1);
      ::setenv("LONGSHIP_TEST_STATE", state().c_str(), 1);
      ::setenv("LONGSHIP_TEST_NAME", name.c_str(), 1);
      ::execl("/proc/self/exe", "test_batch", "--gtest_filter=LocalVictim.IsKilled", "--gtest_brief=1",
              nullptr);
      ::_exit(1);
    }
    int status = 0;
    ::waitpid(agent, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << point;
    EXPECT_EQ(report(name).state, State::running) << point;
    opened().cancel(name);
    EXPECT_EQ(after(name, State::ended).state, State::ended) << point;
  }
}

// Only there in the process that is to be killed.
class LocalVictim : public testing::Test {
  void TestBody() override {
    Local local(std::getenv("LONGSHIP_TEST_STATE"), {4, 0, 0}, milliseconds(200));
    Pilot pilot;
    pilot.name = std::getenv("LONGSHIP_TEST_NAME");
    pilot.cores = 1;
    pilot.command = {"/bin/sleep", "600"};
    local.submit(pilot);
    local.cancel(pilot.name);
  }
};
[[maybe_unused]] const auto* const victim =
    std::getenv("LONGSHIP_TEST_STATE") == nullptr
        ? nullptr
        : testing::RegisterTest("LocalVictim", "IsKilled", nullptr, nullptr, __FILE__, __LINE__,
                                [] { return new LocalVictim; });

}  // namespace
}  // namespace longship::batch
