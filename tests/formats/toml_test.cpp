// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "formats/document.h"
#include "message.h"

namespace longship::formats {
namespace {

using testing::HasSubstr;

TEST(TomlTest, BecomesTheSameValuesAsJson) {
  const auto document = parse_toml(R"(
z = 1
a = [true, 0.5, 'x']
[t]
k = "v"
d.e = -3
[[list]]
n = 1
[[list]]
n = 2
)",
                                   "x.toml");
  EXPECT_EQ(dump_json(document),
            R"({"z":1,"a":[true,0.5,"x"],"t":{"k":"v","d":{"e":-3}},"list":[{"n":1},{"n":2}]})");
}

TEST(TomlTest, EveryKeyAndValueKnowsItsPlace) {
  const auto document = parse_toml("a = 1\n\n[t]\n  k = [\n 5]\n", "x.toml");
  EXPECT_EQ(document.find("a")->place().text(), "x.toml:1");
  const auto& table = *document.find("t");
  EXPECT_EQ(table.place().text(), "x.toml:3");
  EXPECT_EQ(table.table().entry("k")->place.text(), "x.toml:4");
  EXPECT_EQ(table.table().entry("k")->place.column, 3);
  EXPECT_EQ(table.find("k")->array()[0].place().text(), "x.toml:5");
}

TEST(TomlTest, WhatIsWrongIsToldWithItsPlace) {
  const std::map<std::string, std::string> wrong = {
      {"a = \n", "x.toml:1:5: "},
      {"a = 1\nb = = 2\n", "x.toml:2:5: "},
      {"a = 1\na = 2\n", "x.toml:2:"},
      {"[t]\n[t]\n", "x.toml:2:"},
      {"a = 'x", "x.toml:1:"},
      {"a = \"\xff\"", "x.toml:1:"},
      {"a = 99999999999999999999\n", "x.toml:1:"},
      {"d = 1979-05-27\n", "x.toml:1:5: a date or time is of no use here: put it in quotes"},
      {"t = 07:32:00\n", "a date or time is of no use here"},
  };
  for (const auto& [text, reason] : wrong)
    EXPECT_THAT(message_of([&, &document = text] { (void)parse_toml(document, "x.toml"); }),
                HasSubstr(reason))
        << text;
}

std::string repeated(std::string_view text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST(TomlTest, DepthAndSizeAreLimited) {
  EXPECT_THAT(message_of([] { (void)parse_toml("a = 1\n", "x", {.bytes = 5}); }),
              HasSubstr("x: 6 bytes, more than the 5"));
  EXPECT_THAT(message_of([] { (void)parse_toml("a = " + repeated("[", 100'000), "x"); }), HasSubstr("x:1:"));
  EXPECT_THAT(message_of([] { (void)parse_toml("a = [[[1]]]", "x", {.depth = 2}); }),
              HasSubstr("nested too deeply"));
  EXPECT_NO_THROW((void)parse_toml("a = [[1]]", "x", {.depth = 2}));
}

TEST(TomlTest, KeysWithVeryManyDotsDoNotOverflowTheStack) {
  for (const auto& key : {repeated("a.", 400'000), repeated("\"=\".", 200'000), repeated("'#'.", 200'000)}) {
    EXPECT_EQ(message_of([&, &dotted = key] { (void)parse_toml("x = '''\n'''\n" + dotted + "a = 1", "x"); }),
              "x:3:1: a key with too many dots");
    EXPECT_EQ(message_of([&, &dotted = key] { (void)parse_toml("[" + dotted + "a]", "x"); }),
              "x:1:1: a key with too many dots");
    EXPECT_EQ(message_of([&, &dotted = key] { (void)parse_toml("t = {" + dotted + "a = 1}", "x"); }),
              "x:1:1: a key with too many dots");
  }
}

// Found by the fuzzer: the library's own asserts do not hold for these.
TEST(TomlTest, WhatConfusesTheParserIsNoMoreThanWrong) {
  for (const char* text : {"[: needs]\n", "[", "[\n", "\xe3\x80\x85 = 1\n", "\xc3\xa9 = 1\n"})
    EXPECT_THAT(message_of([&] { (void)parse_toml(text, "x.toml"); }), HasSubstr("x.toml:")) << text;
}

TEST(TomlTest, DotsInTextsAndCommentsAreNoKeys) {
  const auto dots = std::string(1000, '.');
  const auto document = parse_toml("a = \"" + dots + "\\\"" + dots + "\" # " + dots + "\nb = '''" + dots +
                                       "\n'" + dots + "'''\nc = [1.5, 2.5, '" + dots + "']\n",
                                   "x");
  EXPECT_EQ(document.find("a")->text().size(), 2001u);
  EXPECT_EQ(document.find("b")->text().size(), 2002u);
}

}  // namespace
}  // namespace longship::formats
