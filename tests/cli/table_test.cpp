// SPDX-License-Identifier: Apache-2.0
#include "cli/table.h"

#include <gtest/gtest.h>

namespace longship::cli {
namespace {

TEST(TableTest, ColumnsAreAlignedAndLinesEndWithoutBlanks) {
  TextTable table({{"name", Align::left}, {"size", Align::right}, {"note", Align::left}});
  table.add({"debian-torch", "763 MB", "cached"});
  table.add({"é", "9 B"});
  EXPECT_EQ(table.text(),
            "NAME            SIZE  NOTE\n"
            "debian-torch  763 MB  cached\n"
            "é                9 B\n");
}

TEST(TableTest, AnEmptyTableHasOnlyItsTitles) {
  const TextTable table({{"rank", Align::right}, {"node", Align::left}});
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.text(), "RANK  NODE\n");
}

TEST(WidthTest, CountsWhatATerminalShows) {
  EXPECT_EQ(width(""), 0u);
  EXPECT_EQ(width("rank"), 4u);
  EXPECT_EQ(width("█▌ é"), 4u);
  EXPECT_EQ(width("日本"), 4u);
  EXPECT_EQ(width("e\u0301"), 1u);
  EXPECT_EQ(width("\033[36mblue\033[0m"), 4u);
  EXPECT_EQ(width("\xff\xfe"), 2u);  // not UTF-8: a cell each
  EXPECT_EQ(width("\033["), 0u);     // cut off
}

TEST(WidthTest, CuttingKeepsWholeCharactersAndSwitchesColoursOff) {
  EXPECT_EQ(cut_to_width("abcdef", 3), "abc");
  EXPECT_EQ(cut_to_width("日本", 3), "日");
  EXPECT_EQ(cut_to_width("\033[36mblue\033[0m", 2), "\033[36mbl\033[0m");
  EXPECT_EQ(cut_to_width("ab", 0), "");
}

}  // namespace
}  // namespace longship::cli
