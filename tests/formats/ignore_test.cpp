// SPDX-License-Identifier: Apache-2.0
#include "formats/ignore.h"

#include <gtest/gtest.h>

#include <chrono>

namespace longship::formats {
namespace {

struct Case {
  const char* patterns;
  const char* path;
  bool ignored;
  bool is_directory = false;
};

TEST(IgnoreTest, PatternsMeanWhatTheyMeanToGit) {
  const Case cases[] = {
      {"*.h5", "a.h5", true},
      {"*.h5", "deep/in/a.h5", true},
      {"*.h5", "a.h5.txt", false},
      {"*", "anything", true},
      {"a*b*c", "aXXbYYc", true},
      {"a*b*c", "aXXbYY", false},
      {"data", "data", true, true},
      {"data", "src/data", true, true},
      {"data", "database", false},
      {"/data", "data", true},
      {"/data", "src/data", false},
      {"data/", "data", true, true},
      {"data/", "data", false, false},
      {"src/data", "src/data", true},
      {"src/data", "other/src/data", false},
      {"src/*.py", "src/a.py", true},
      {"src/*.py", "src/sub/a.py", false},
      {"**/cache", "cache", true},
      {"**/cache", "a/b/cache", true},
      {"a/**/b", "a/b", true},
      {"a/**/b", "a/x/y/b", true},
      {"a/**/b", "a/x/y/c", false},
      {"a/**", "a/x", true},
      {"a/**", "a/x/y", true},
      {"a/**", "a", false, true},
      {"?.txt", "a.txt", true},
      {"?.txt", "ab.txt", false},
      {"[abc].txt", "b.txt", true},
      {"[abc].txt", "d.txt", false},
      {"[a-f]*", "dust", true},
      {"[a-f]*", "zoo", false},
      {"[!a-f]*", "zoo", true},
      {"[^a-f]*", "dust", false},
      {"[]x]", "]", true},
      {"[a-]", "-", true},
      {"[open", "[open", true},
      {"\\*", "*", true},
      {"\\*", "x", false},
      {"\\#file", "#file", true},
      {"\\!file", "!file", true},
      {"# comment", "# comment", false},
      {"", "x", false},
      {"/", "x", false, true},
      {"!", "x", false},
      {"trail   ", "trail", true},
      {"trail\\ ", "trail ", true},
      {"dos\r", "dos", true},
      {"*.log\n!keep.log", "keep.log", false},
      {"*.log\n!keep.log", "other.log", true},
      {"!keep.log\n*.log", "keep.log", true},
      {"\xef\xbb\xbf*.log", "a.log", true},
  };
  for (const auto& [patterns, path, ignored, is_directory] : cases) {
    IgnoreList list;
    list.add_lines(patterns);
    EXPECT_EQ(list.ignores(path, is_directory), ignored) << patterns << " and " << path;
  }
}

TEST(IgnoreTest, ManyStarsTakeNoExponentialTime) {
  std::string pattern, path;
  for (int i = 0; i < 200; ++i) pattern += "a*";
  EXPECT_FALSE(detail::matches_part(pattern + "b", std::string(5000, 'a')));
  IgnoreList list;
  std::string stars = "x";
  for (int i = 0; i < 100; ++i) stars += "/**/a", path += "a/a/";
  list.add_pattern(stars + "/b");
  EXPECT_FALSE(list.ignores("x/" + path + "c", false));
}

}  // namespace
}  // namespace longship::formats
