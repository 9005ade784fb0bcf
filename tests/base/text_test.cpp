// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longship {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

TEST(TextTest, SplitKeepsEmptyParts) {
  EXPECT_THAT(split("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(split("", ','), ElementsAre(""));
}

TEST(TextTest, TrimTakesBlanksOffBothEnds) {
  EXPECT_EQ(trim(" \t a b\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
}

TEST(TextTest, JoinPutsTheSeparatorBetween) {
  const std::vector<std::string> parts = {"a", "b", "c"};
  EXPECT_EQ(join(parts, ", "), "a, b, c");
  EXPECT_EQ(join({}, ", "), "");
}

TEST(TextTest, LowerChangesLettersOnly) {
  EXPECT_EQ(lower("Content-LENGTH: Ä9Z["), "content-length: Ä9z[");
}

TEST(TextTest, PrintableEscapesWhatATerminalWouldObey) {
  EXPECT_EQ(printable("plain text"), "plain text");
  EXPECT_EQ(printable("a\nb\tc"), "a\\nb\\tc");
  EXPECT_EQ(printable("\033[31mred"), "\\x1b[31mred");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable("\u009b31mred"), "\\xc2\\x9b31mred");
  EXPECT_EQ(printable("\u00a0\u00e9"), "\u00a0\u00e9");
}

TEST(TextTest, PrintableKeepsValidUtf8AndEscapesTheRest) {
  EXPECT_EQ(printable("naïve ☃ 𝄞"), "naïve ☃ 𝄞");
  EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(printable("\xc3"), "\\xc3");                    // cut short
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // surrogate
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");           // C1: another way to write ESC [
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\xe2\\x80\\xae");  // right-to-left override
}

TEST(TextTest, AsTypedQuotesOnlyWhatAShellWouldTouch) {
  const std::vector<std::string> arguments = {"python3", "a b", "it's", "", "--x=1"};
  EXPECT_EQ(as_typed(arguments), "python3 'a b' 'it'\\''s' '' --x=1");
}

TEST(TextTest, ClosestFindsATypoAndLeavesStrangersAlone) {
  const std::vector<std::string> known = {"nodes", "ranks_per_node", "walltime"};
  EXPECT_THAT(closest("nodse", known), Optional(std::string("nodes")));
  EXPECT_THAT(closest("walltme", known), Optional(std::string("walltime")));
  EXPECT_EQ(closest("colour", known), std::nullopt);
  EXPECT_EQ(suggestion("nodse", known), ": did you mean \"nodes\"?");
  EXPECT_THAT(suggestion("colour", known), IsEmpty());
}

}  // namespace
}  // namespace longship
