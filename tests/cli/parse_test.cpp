// SPDX-License-Identifier: Apache-2.0
#include "cli/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longship::cli {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;

class ParseTest : public testing::Test {
 protected:
  ParseTest() {
    app_.version("longship 1.2");
    logs_.argument("JOB", job_, "Which");
    logs_.option("--rank", rank_, "Of this rank", {.range = Range{0, 9}, .show_default = true});
    logs_.flag("-a,--all", all_, "Of all ranks", {.excludes = "--rank"});
    logs_.flag(
        "-q", [this] { quiet_ = true; }, "Say less");
    logs_.option("--file", file_, "Where to", {.value = "FILE"});
    logs_.option("--as", kind_, "As what", {.choices = {"text", "json"}});
    logs_.option("--in", kind_, "Where", {.needs = {"--file"}});
    logs_.flag("--inside", all_, "For ourselves", {.hidden = true});
    logs_.footer = examples("  longship logs digits-7\n");
    auto& add = image_.command("add", "One more");
    add.option("-t,--tag", job_, "Its name", {.required = true});
    add.option("--packages", several_, "What is in it", {.separator = ','});
    box_.option("-e,--env", several_, "Variables", {.one_each = true});
    box_.action_on_rest = [](const std::vector<std::string>&) {};
  }

  std::string wrong(const std::vector<std::string>& words) {
    try {
      (void)parse(app_, words);
    } catch (const WrongWords& wrong) {
      EXPECT_EQ(wrong.failure(), Failure::usage);
      return full_name(wrong.command()) + ": " + wrong.what();
    }
    return "all right";
  }

  Command app_{"longship", "Longship"};
  Command& logs_ = app_.command("logs", "What was said");
  Command& image_ = app_.command("image", "Images");
  Command& box_ = app_.command("box", "A program in an image");
  std::string job_, kind_;
  std::vector<std::string> several_;
  std::filesystem::path file_;
  int rank_ = 3;
  bool all_ = false, quiet_ = false;
};

TEST_F(ParseTest, WordsGoIntoTheVariablesOfTheCommandThatIsNamed) {
  const auto meaning =
      parse(app_, {"logs", "digits-7", "--rank", "5", "--file=/tmp/x", "-q", "--as", "json"});
  ASSERT_TRUE(meaning);
  EXPECT_EQ(meaning->command, &logs_);
  EXPECT_EQ(job_, "digits-7");
  EXPECT_EQ(rank_, 5);
  EXPECT_EQ(file_, "/tmp/x");
  EXPECT_EQ(kind_, "json");
  EXPECT_TRUE(quiet_);
  EXPECT_FALSE(all_);
}

TEST_F(ParseTest, WhatIsNotSaidStaysAsItWas) {
  ASSERT_TRUE(parse(app_, {"logs", "digits-7", "--all"}));
  EXPECT_EQ(rank_, 3);
  EXPECT_FALSE(quiet_);
  EXPECT_TRUE(all_);
}

TEST_F(ParseTest, ACommandBelowAnotherIsFound) {
  const auto meaning = parse(app_, {"image", "add", "-t", "tools", "--packages", "a,b"});
  ASSERT_TRUE(meaning);
  EXPECT_EQ(full_name(*meaning->command), "longship image add");
  EXPECT_EQ(job_, "tools");
  EXPECT_THAT(several_, ElementsAre("a", "b"));
}

TEST_F(ParseTest, TheRestIsLeftToACommandThatWantsIt) {
  const auto meaning = parse(app_, {"box", "-e", "A=1", "-e", "B=2", "debian", "-e", "--", "--json"});
  ASSERT_TRUE(meaning);
  EXPECT_EQ(meaning->command, &box_);
  EXPECT_THAT(several_, ElementsAre("A=1", "B=2"));
  EXPECT_THAT(meaning->rest, ElementsAre("debian", "-e", "--", "--json"));
}

TEST_F(ParseTest, WhatIsUnderstoodLaterIsAdded) {
  ASSERT_TRUE(parse(app_, {"box", "-e", "A=1", "debian"}));
  const auto more = parse(box_, {"-e", "B=2", "--", "-e"});
  ASSERT_TRUE(more);
  EXPECT_THAT(several_, ElementsAre("A=1", "B=2"));
  EXPECT_THAT(more->rest, ElementsAre("--", "-e"));
}

TEST_F(ParseTest, WordsThatMakeNoSenseNameTheCommandTheyReached) {
  EXPECT_EQ(wrong({}), "longship: A subcommand is required");
  EXPECT_EQ(wrong({"image"}), "longship image: A subcommand is required");
  EXPECT_EQ(wrong({"logs"}), "longship logs: JOB is required");
  EXPECT_EQ(wrong({"logs", "a", "b"}), "longship logs: The following argument was not expected: b");
  EXPECT_EQ(wrong({"image", "add"}), "longship image add: --tag is required");
}

TEST_F(ParseTest, ValuesThatBreakARuleAreRefused) {
  EXPECT_EQ(wrong({"logs", "a", "--rank", "9"}), "all right");
  EXPECT_THAT(wrong({"logs", "a", "--rank", "10"}), HasSubstr("--rank: Value 10 not in range 0 to 9"));
  EXPECT_THAT(wrong({"logs", "a", "--as", "xml"}), HasSubstr("--as: xml not in {text,json}"));
  EXPECT_EQ(wrong({"logs", "a", "--rank", "1", "--all"}), "longship logs: --rank excludes --all");
  EXPECT_EQ(wrong({"logs", "a", "--in", "x"}), "longship logs: --in requires --file");
}

TEST_F(ParseTest, HelpTellsTheNamesAndRulesOfAll) {
  testing::internal::CaptureStdout();
  EXPECT_FALSE(parse(app_, {"logs", "--help"}));
  const auto help = testing::internal::GetCapturedStdout();
  EXPECT_THAT(help, HasSubstr("Usage: longship logs [OPTIONS] JOB"));
  EXPECT_THAT(help, HasSubstr("--rank INT:INT in [0 - 9]=3"));
  EXPECT_THAT(help, HasSubstr("--file FILE"));
  EXPECT_THAT(help, HasSubstr("Examples:\n  longship logs digits-7\n"));
  EXPECT_THAT(help, testing::Not(HasSubstr("--inside")));
}

TEST_F(ParseTest, HelpOfACommandAskedAloneHasItsFullName) {
  testing::internal::CaptureStdout();
  EXPECT_FALSE(parse(box_, {"--help"}));
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("Usage: longship box [OPTIONS]"));
}

TEST_F(ParseTest, VersionIsPrinted) {
  testing::internal::CaptureStdout();
  EXPECT_FALSE(parse(app_, {"--version"}));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "longship 1.2\n");
}

}  // namespace
}  // namespace longship::cli
