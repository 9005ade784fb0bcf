// SPDX-License-Identifier: Apache-2.0
#include "sweep/fill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "expect.h"
#include "sweep/metrics.h"

namespace longship::sweep {
namespace {

using testing::ElementsAre;

StudyFile file_of(const std::string& keys) {
  return parse_study_file(
      "version = 1\nname = \"s\"\ncommand = [\"c\"]\nobjective = { metric = \"loss\" }\n" + keys +
          "\n[space]\nlr = { low = 0.0, high = 1.0 }\nnet = [\"a b\", \"c\"]\ndeep = { low = 1, high = 2, "
          "when = { net = \"c\" } }\nfixed = true\n",
      "study.toml", "/tmp");
}

Start start() {
  Start start;
  start.trial = 7;
  start.values.set("lr", 0.25);
  start.values.set("net", "a b");
  start.values.set("fixed", true);
  return start;
}

TEST(FillTest, ValuesStandWhereTheirNamesWere) {
  const auto filled =
      fill(file_of(""), {"--lr={lr}", "{net}", "{trial}-{fixed}", "x{deep}x"}, {{"LR", "{lr}"}}, start());
  EXPECT_THAT(filled.command, ElementsAre("--lr=0.25", "a b", "7-true", "xx"));
  EXPECT_EQ(filled.environment.at("LR"), "0.25");
  EXPECT_EQ(filled.environment.at("LONGSHIP_TRIAL"), "7");
  EXPECT_EQ(filled.environment.at("LONGSHIP_VALUES"), R"({"lr":0.25,"net":"a b","fixed":true})");
}

TEST(FillTest, OtherBracesStay) {
  const auto filled = fill(file_of(""), {R"({"a": 1})", "{{lr}", "{", "{}", "a{lr"}, {}, start());
  EXPECT_THAT(filled.command, ElementsAre(R"({"a": 1})", "{lr}", "{", "{}", "a{lr"));
}

TEST(FillTest, AnUnknownNameIsAnError) {
  EXPECT_EQ(message_of([] { check_placeholders(file_of(""), {"{rl}"}, {}); }),
            "{rl} stands in the command, but the study has no such parameter: did you mean \"lr\"?");
}

TEST(FillTest, AFileOfValuesIsWrittenBeforeTheCommand) {
  const auto filled = fill(file_of("values_file = \"v.json\""), {"train", "x y"}, {}, start());
  ASSERT_EQ(filled.command.size(), 6u);
  EXPECT_EQ(filled.command[3], "v.json");
  EXPECT_EQ(filled.command[5], "x y");
}

TEST(MetricsTest, TheLastLineThatHasItCounts) {
  EXPECT_EQ(last_value("{\"loss\": 2}\n{\"loss\": 1.5, \"epoch\": 3}\n{\"epoch\": 4}\nnothing\n{\"loss\": 0.",
                       "loss"),
            1.5);
  EXPECT_EQ(last_value("", "loss"), std::nullopt);
  EXPECT_EQ(last_value("{\"loss\": \"low\"}", "loss"), std::nullopt);
  EXPECT_TRUE(std::isnan(*last_value("{\"epoch\": 1, \"loss\": NaN}\n", "loss")));
  EXPECT_TRUE(std::isnan(*last_value("{\"loss\": null}\n", "loss")));
  EXPECT_EQ(*last_value("{\"loss\": -Infinity}\r\n", "loss"), -HUGE_VAL);
}

TEST(MetricsTest, WhatIsMissingIsNamed) {
  const std::vector<Objective> objectives = {{"loss", false, ""}, {"accuracy", true, "m.jsonl"}};
  const auto none = [](const std::string&) { return std::optional<std::string>(); };
  const auto some = [](const std::string&) { return std::optional<std::string>("{\"accuracy\": 0.5}\n"); };
  EXPECT_EQ(measured(objectives, {}, some).problem, "it never reported \"loss\"");
  EXPECT_EQ(measured(objectives, {{"loss", 1}}, none).problem,
            "it left no m.jsonl: is it among the outputs that the job keeps?");
  EXPECT_THAT(measured(objectives, {{"loss", 1}}, some).values, ElementsAre(1, 0.5));
}

}  // namespace
}  // namespace longship::sweep
