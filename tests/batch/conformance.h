// SPDX-License-Identifier: Apache-2.0
// What each batch system has to do, tried on the real thing.
//
// An instance names how to open the system (each time anew, as after a restart), a queue, and how many nodes
// there are, so that a pilot can ask for all of them. Waiting is polling here: there is no other way to learn
// what a batch system does.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "batch/batch.h"

namespace longship::batch {

struct System {
  std::string name;
  std::function<std::unique_ptr<BatchSystem>(const std::filesystem::path& directory)> open;
  std::string queue;
  int nodes = 1;
};

class ConformanceTest : public testing::TestWithParam<System> {
 protected:
  void SetUp() override { batch_ = opened(); }
  void TearDown() override {
    for (const auto& name : names_) batch_->cancel(name);
    for (const auto& name : names_) (void)after(name, State::ended);
  }

  [[nodiscard]] std::unique_ptr<BatchSystem> opened() const {
    return GetParam().open(directory_.path() / "state");
  }

  // Runs a line of shell with its arguments; $FILE is what content() reads.
  Pilot pilot(const std::string& line, std::vector<std::string> arguments = {}) {
    std::random_device device;
    Pilot pilot;
    pilot.name = fmt::format("p{:08x}", device());
    pilot.queue = GetParam().queue;
    pilot.cores = 1;
    pilot.walltime = std::chrono::minutes(5);
    pilot.directory = directory_.path();
    pilot.output = directory_.path() / "100% out";
    pilot.environment["FILE"] = file().string();
    pilot.command = {"/bin/sh", "-c", line, "sh"};
    pilot.command.insert(pilot.command.end(), arguments.begin(), arguments.end());
    names_.push_back(pilot.name);
    return pilot;
  }
  Pilot whole(const std::string& line) {
    auto all = pilot(line);
    all.nodes = GetParam().nodes;
    all.cores = 0;
    return all;
  }

  [[nodiscard]] Report report(const std::string& name) const {
    return batch_->report(std::span(&name, 1)).at(name);
  }
  // The report in which it has this state; the last one if it never does.
  [[nodiscard]] Report after(const std::string& name, State state) const {
    Report last;
    for (int i = 0; i < 1500; ++i) {
      last = report(name);
      if (last.state == state || last.state == State::unknown) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return last;
  }

  [[nodiscard]] std::filesystem::path file() const { return directory_.path() / "file"; }
  [[nodiscard]] std::string content() const {
    return std::filesystem::exists(file()) ? read_file(file()) : "";
  }

  TemporaryDirectory directory_{"longship-batch"};
  std::unique_ptr<BatchSystem> batch_;
  std::vector<std::string> names_;
};

TEST_P(ConformanceTest, EveryNameAskedForIsAnswered) {
  const auto one = pilot("exit 0"), other = pilot("exit 0");
  batch_->submit(one);
  const std::vector<std::string> names = {one.name, "never-was", other.name};
  const auto reports = batch_->report(names);
  EXPECT_EQ(reports.size(), 3u);
  EXPECT_NE(reports.at(one.name).state, State::unknown);
  EXPECT_EQ(reports.at("never-was").state, State::unknown);
  EXPECT_EQ(reports.at(other.name).state, State::unknown);
  EXPECT_TRUE(batch_->report({}).empty());
}

TEST_P(ConformanceTest, APilotRunsAndItsOutputIsWhereItWasAskedFor) {
  const auto asked = pilot("echo said; echo complained >&2; pwd > \"$FILE\"");
  const auto id = batch_->submit(asked);
  EXPECT_EQ(after(asked.name, State::ended).state, State::ended);
  EXPECT_EQ(read_file(asked.output), "said\ncomplained\n");
  EXPECT_EQ(content(), directory_.path().string() + "\n");
  EXPECT_EQ(report(asked.name).id, id);
}

TEST_P(ConformanceTest, OnePilotAtATimeHasTheWholeMachineAndTheOtherWaitsWithAReason) {
  const auto first = whole("sleep 600"), second = whole("exit 0");
  batch_->submit(first);
  ASSERT_EQ(after(first.name, State::running).state, State::running);
  batch_->submit(second);
  const auto waiting = report(second.name);
  EXPECT_EQ(waiting.state, State::queued);
  EXPECT_NE(waiting.reason, "");
  batch_->cancel(first.name);
  EXPECT_EQ(after(first.name, State::ended).state, State::ended);
  EXPECT_EQ(after(second.name, State::ended).state, State::ended);
}

TEST_P(ConformanceTest, APilotThatFailedHasEnded) {
  const auto asked = pilot("exit 3");
  batch_->submit(asked);
  const auto ended = after(asked.name, State::ended);
  EXPECT_EQ(ended.state, State::ended);
  EXPECT_NE(ended.reason, "");
  if (ended.exit_code) {
    EXPECT_EQ(*ended.exit_code, 3);
  }
}

TEST_P(ConformanceTest, APilotThatCannotBeStartedEnds) {
  auto asked = pilot("");
  asked.command = {"/no/such/program"};
  batch_->submit(asked);
  EXPECT_EQ(after(asked.name, State::ended).state, State::ended);
}

TEST_P(ConformanceTest, LostAnswerIsFoundAgainByName) {
  const auto asked = pilot("sleep 600");
  try {
    batch_->submit(asked);
  } catch (const Error& error) {
    EXPECT_NE(std::getenv("LONGSHIP_FAILPOINTS"), nullptr) << error.what();  // test_site.py loses it for real
  }
  batch_ = opened();  // as a process that died before it heard the answer
  EXPECT_EQ(after(asked.name, State::running).state, State::running);
  EXPECT_NE(report(asked.name).id, "");
  batch_->cancel(asked.name);
  EXPECT_EQ(after(asked.name, State::ended).state, State::ended);
}

TEST_P(ConformanceTest, CancelTwiceIsHarmless) {
  const auto asked = pilot("sleep 600");
  batch_->submit(asked);
  EXPECT_EQ(after(asked.name, State::running).state, State::running);
  batch_->cancel(asked.name);
  batch_->cancel(asked.name);
  EXPECT_EQ(after(asked.name, State::ended).state, State::ended);
  batch_->cancel(asked.name);
  batch_->cancel("never-was");
  EXPECT_EQ(report(asked.name).state, State::ended);
}

TEST_P(ConformanceTest, APilotThatWaitsIsCancelledBeforeItStarts) {
  const auto first = whole("sleep 600"), second = whole("touch \"$FILE\"");
  batch_->submit(first);
  ASSERT_EQ(after(first.name, State::running).state, State::running);
  batch_->submit(second);
  batch_->cancel(second.name);
  EXPECT_EQ(after(second.name, State::ended).state, State::ended);
  batch_->cancel(first.name);
  EXPECT_EQ(after(first.name, State::ended).state, State::ended);
  EXPECT_EQ(report(second.name).state, State::ended);
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_P(ConformanceTest, ArgumentsArriveUnchanged) {
  const std::vector<std::string> nasty = {
      "",     " ",      "a b",  "'",       "\"",       "$HOME",       "`id`",      "\\",    "\\n",
      "a\nb", "a\r\nb", "\t",   "*",       "~",        "!x",          "#",         "-n",    "--help",
      "é ☃",  "%j",     "$'x'", "'; :; '", "\x01\x7f", "#SBATCH -N9", "a'b\nc\\d", "&|<>()"};
  const auto asked = pilot("printf '%s\\0' \"$@\" > \"$FILE\"", nasty);
  batch_->submit(asked);
  EXPECT_EQ(after(asked.name, State::ended).state, State::ended);
  std::string expected;
  for (const auto& word : nasty) expected += word + std::string(1, '\0');
  EXPECT_EQ(content(), expected);
}

TEST_P(ConformanceTest, SetUpLinesAndVariablesReachThePilot) {
  auto asked = pilot("printf '%s|%s' \"$FROM_SETUP\" \"$NASTY\" > \"$FILE\"");
  asked.setup = {"FROM_SETUP=\"it's $((6 * 7))\"", "export FROM_SETUP"};
  asked.environment["NASTY"] = "a 'b'\n\"$c\"";
  batch_->submit(asked);
  EXPECT_EQ(after(asked.name, State::ended).state, State::ended);
  EXPECT_EQ(content(), "it's 42|a 'b'\n\"$c\"");
}

TEST_P(ConformanceTest, SecretsOfTheAgentStayWithIt) {
  ::setenv("LONGSHIP_TOKEN", "secret", 1);
  ::setenv("LONGSHIP_HUB", "http://hub", 1);
  const auto asked = pilot("env > \"$FILE\"");
  batch_->submit(asked);
  ::unsetenv("LONGSHIP_TOKEN");
  ::unsetenv("LONGSHIP_HUB");
  EXPECT_EQ(after(asked.name, State::ended).state, State::ended);
  EXPECT_THAT(content(), testing::HasSubstr("FILE="));
  EXPECT_THAT(content(), testing::Not(testing::HasSubstr("LONGSHIP_TOKEN")));
  EXPECT_THAT(content(), testing::Not(testing::HasSubstr("LONGSHIP_HUB")));
}

TEST_P(ConformanceTest, NonsenseIsRefusedBeforeTheBatchSystemHearsOfIt) {
  auto asked = pilot("exit 0");
  asked.name = "../escape";
  EXPECT_THROW(batch_->submit(asked), Error);
  asked = pilot("exit 0");
  asked.command.clear();
  EXPECT_THROW(batch_->submit(asked), Error);
  asked = pilot("exit 0");
  asked.environment["A B"] = "x";
  EXPECT_THROW(batch_->submit(asked), Error);
  asked = pilot("exit 0");
  asked.output = "relative";
  EXPECT_THROW(batch_->submit(asked), Error);
  names_.clear();
}

}  // namespace longship::batch
