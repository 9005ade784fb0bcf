// SPDX-License-Identifier: Apache-2.0
#include "cli/quick_parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace longship::cli {
namespace {
using testing::ElementsAre;
using Words = std::vector<std::string>;

// A program with all kinds of options, and what one parser made of some words.
struct Understood {
  Command app{"longship", "Longship"};
  Command& box = app.command("box", "A program in an image");
  Command& logs = app.command("logs", "What was said");
  std::string where, kind;
  Several variables, packages;
  int rank = 0;
  bool writable = false, loud = false;
  std::optional<Meaning> meaning;

  template <class Parser>
  Understood(Parser parser, const Words& words) {
    box.option("-c,--cwd", where, "Where");
    box.option("--as", kind, "As what", {.choices = {"text", "json"}});
    box.option("-e,--env", variables, "Variables", {.one_each = true});
    box.option("--packages", packages, "What is in it", {.separator = ','});
    box.option("--rank", rank, "Which");
    box.flag("-w,--writable", writable, "Writable");
    box.flag(
        "-v,--verbose", [this] { loud = true; }, "Louder");
    box.action_on_rest = [](const Words&) {};
    logs.argument("JOB", kind, "Which");
    try {
      meaning = parser(app, words);
    } catch (const WrongWords&) {
    }
  }
};

void expect_same_or_nothing(const Words& words) {
  SCOPED_TRACE(as_typed(words));
  const Understood quick(quick_parse, words);
  if (!quick.meaning) return;
  const Understood slow(parse, words);
  ASSERT_TRUE(slow.meaning);
  EXPECT_EQ(full_name(*quick.meaning->command), full_name(*slow.meaning->command));
  EXPECT_EQ(quick.meaning->rest, slow.meaning->rest);
  EXPECT_EQ(quick.where, slow.where);
  EXPECT_EQ(quick.variables, slow.variables);
  EXPECT_EQ(quick.writable, slow.writable);
  EXPECT_EQ(quick.loud, slow.loud);
}

const Words pieces[] = {{},
                        {"-w"},
                        {"-v"},
                        {"-vw"},
                        {"-c", "/a"},
                        {"-c/a"},
                        {"-c=/a"},
                        {"--cwd=/a b"},
                        {"--cwd="},
                        {"--cwd"},
                        {"--cwd", "-x"},
                        {"--cwd", "--"},
                        {"--cwd", ""},
                        {"--cwd", "[a,b]"},
                        {"--cwd", "{}"},
                        {"--cwd", "\"a\""},
                        {"--cwd", "box"},
                        {"-e", "A=1"},
                        {"--env=A=1", "-e", "B"},
                        {"-e", "[a,b]"},
                        {"-e", "{}"},
                        {"-e", ""},
                        {"-e", "%%"},
                        {"--writable=false"},
                        {"--as", "text"},
                        {"--rank", "3"},
                        {"--packages", "a,b"},
                        {"--help"},
                        {"-"},
                        {"--unknown"},
                        {"--"},
                        {"./tree", "ls", "-w"},
                        {"./tree", "--", "ls", "--help"},
                        {"box"},
                        {"logs"}};

TEST(QuickParse, SaysWhatParseSaysOrNothing) {
  for (const auto& first : pieces)
    for (const auto& second : pieces) {
      Words words = {"box"};
      words.insert(words.end(), first.begin(), first.end());
      words.insert(words.end(), second.begin(), second.end());
      expect_same_or_nothing(words);
      expect_same_or_nothing({words.begin() + 1, words.end()});
    }
}

TEST(QuickParse, UnderstandsWhatIsTypedMost) {
  const Understood quick(
      quick_parse, {"box", "-w", "--cwd", "/a", "-e", "A=1", "--env=B", "-v", "./tree", "ls", "-c", "no"});
  ASSERT_TRUE(quick.meaning);
  EXPECT_EQ(quick.meaning->command, &quick.box);
  EXPECT_THAT(quick.meaning->rest, ElementsAre("./tree", "ls", "-c", "no"));
  EXPECT_EQ(quick.where, "/a");
  EXPECT_THAT(quick.variables, ElementsAre("A=1", "B"));
  EXPECT_TRUE(quick.writable && quick.loud);
}

TEST(QuickParse, LeavesDoubtsToParse) {
  for (const auto& words :
       {Words{"box", "--help"}, Words{"box", "--unknown"}, Words{"logs", "7"}, Words{"-x"},
        Words{"box", "--as", "text", "./tree"}, Words{"box", "-w", "-w", "./tree"}})
    EXPECT_FALSE(Understood(quick_parse, words).meaning) << as_typed(words);
}

}  // namespace
}  // namespace longship::cli
