// SPDX-License-Identifier: Apache-2.0
#include "box/names_ahead.h"

#include <gtest/gtest.h>

namespace longship::box {
namespace {

std::vector<std::string> all_of(NamesAhead ahead) {
  std::vector<std::string> names;
  while (!ahead.empty()) names.push_back(next_name(ahead));
  return names;
}

using Names = std::vector<std::string>;

TEST(NamesAheadTest, NamesComeInTheOrderOfThePath) {
  NamesAhead ahead;
  walk_first(ahead, "/usr/lib/x");
  EXPECT_EQ(all_of(ahead), (Names{"usr", "lib", "x"}));
}

TEST(NamesAheadTest, ALinksTargetComesBeforeWhatIsLeft) {
  NamesAhead ahead;
  walk_first(ahead, "lib/a/b");
  EXPECT_EQ(next_name(ahead), "lib");
  walk_first(ahead, "usr/lib");
  EXPECT_EQ(all_of(ahead), (Names{"usr", "lib", "a", "b"}));
}

TEST(NamesAheadTest, EmptyNamesAndDotsAreLeftOutAndParentsAreNot) {
  NamesAhead ahead;
  walk_first(ahead, "//./a/.././/b/./");
  EXPECT_EQ(all_of(ahead), (Names{"a", "..", "b"}));
}

TEST(NamesAheadTest, TheRootIsNoNameAtAll) {
  for (const auto* path : {"", "/", ".", "//./"}) {
    NamesAhead ahead;
    walk_first(ahead, path);
    EXPECT_TRUE(ahead.empty()) << path;
  }
}

}  // namespace
}  // namespace longship::box
