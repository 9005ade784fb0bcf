// SPDX-License-Identifier: Apache-2.0
#include "formats/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message.h"

namespace longship::formats {
namespace {

using std::chrono::seconds;

const Value document = parse_toml(R"(text = "t"
integer = 5
number = 0.5
flag = true
words = ["a", "b"]
size = "2KiB"
plain_size = 77
time = "1h"
colour = "red"
mixed = ["a", 1]
[table]
inner = 1
[[list]]
at = 1
[[list]]
att = 2
)",
                                  "x.toml");

enum class Colour { red, green, none };

class FieldsTest : public testing::Test {
 protected:
  Fields fields{document, ""};
  Colour colour(std::string_view key) {
    return fields.choice<Colour>(key, {{"red", Colour::red}, {"green", Colour::green}}, Colour::none);
  }
};

TEST_F(FieldsTest, GivesWhatIsThere) {
  EXPECT_EQ(fields.text("text"), "t");
  EXPECT_EQ(fields.integer("integer", {1, 5}), 5);
  EXPECT_EQ(fields.number("number"), 0.5);
  EXPECT_EQ(fields.number("integer"), 5.0);
  EXPECT_TRUE(fields.flag("flag", false));
  EXPECT_EQ(fields.words("words"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(fields.bytes("size", {"1B", "1GB"}), 2048u);
  EXPECT_EQ(fields.bytes("plain_size", {"1B", "1GB"}), 77u);
  EXPECT_EQ(fields.duration("time", {"1s", "1d"}), seconds(3600));
  EXPECT_EQ(colour("colour"), Colour::red);
  EXPECT_EQ(fields.table("table", {"inner"})->integer("inner"), 1);
}

TEST_F(FieldsTest, GivesTheFallbackForWhatIsNot) {
  EXPECT_EQ(fields.text("no", "f"), "f");
  EXPECT_EQ(fields.integer("no", {}, 7), 7);
  EXPECT_EQ(fields.number("no", 1.5), 1.5);
  EXPECT_FALSE(fields.flag("no", false));
  EXPECT_TRUE(fields.words("no").empty());
  EXPECT_FALSE(fields.bytes("no", {"1B", "1GB"}));
  EXPECT_FALSE(fields.duration("no", {"1s", "1d"}));
  EXPECT_EQ(colour("no"), Colour::none);
  EXPECT_FALSE(fields.table("no", {}));
  EXPECT_TRUE(fields.tables("no", {}).empty());
}

TEST_F(FieldsTest, WhatIsMissingIsNamed) {
  EXPECT_EQ(message_of([&] { (void)fields.text("no"); }), "x.toml: no: missing");
  EXPECT_EQ(message_of([&] { (void)fields.integer("no"); }), "x.toml: no: missing");
  EXPECT_EQ(message_of([&] { (void)fields.number("no"); }), "x.toml: no: missing");
  EXPECT_EQ(message_of([&] { (void)fields.table("table", {"inner"})->text("no"); }),
            "x.toml:11: table.no: missing");
}

TEST_F(FieldsTest, AWrongTypeSaysWhatWasExpectedAndFound) {
  const auto wrong = [&](auto&& work) { return message_of([&] { (void)work(); }); };
  EXPECT_EQ(wrong([&] { return fields.text("integer"); }),
            "x.toml:2: integer: expected text in quotes, found 5");
  EXPECT_EQ(wrong([&] { return fields.integer("number"); }),
            "x.toml:3: number: expected an integer, found 0.5");
  EXPECT_EQ(wrong([&] { return fields.number("text"); }), "x.toml:1: text: expected a number, found \"t\"");
  EXPECT_EQ(wrong([&] { return fields.flag("text", true); }),
            "x.toml:1: text: expected true or false, found \"t\"");
  EXPECT_EQ(wrong([&] { return fields.words("text"); }), "x.toml:1: text: expected a list, found \"t\"");
  EXPECT_EQ(wrong([&] { return fields.words("mixed"); }),
            "x.toml:10: mixed: expected a list of texts, but entry 2 is 1");
  EXPECT_EQ(wrong([&] {
              return fields.bytes("flag", {"1B", "1GB"});
            }),
            "x.toml:4: flag: expected a size such as \"90GiB\", found true");
  EXPECT_EQ(wrong([&] {
              return fields.duration("integer", {"1s", "1d"});
            }),
            "x.toml:2: integer: expected a time such as \"2h\", found 5");
  EXPECT_EQ(wrong([&] { return fields.table("text", {}); }), "x.toml:1: text: expected a table, found \"t\"");
  EXPECT_EQ(wrong([&] { return fields.tables("table", {}); }),
            "x.toml:11: table: expected a list of tables, each under [[table]], found a table");
  EXPECT_EQ(wrong([&] { return fields.tables("words", {}); }),
            "x.toml:5: words[1]: expected a table, found \"a\"");
}

TEST_F(FieldsTest, AnImpossibleValueSaysTheRange) {
  const auto wrong = [&](auto&& work) { return message_of([&] { (void)work(); }); };
  EXPECT_EQ(wrong([&] {
              return fields.integer("integer", {1, 4});
            }),
            "x.toml:2: integer: expected an integer from 1 to 4, found 5");
  EXPECT_EQ(wrong([&] {
              return fields.bytes("size", {"1B", "1KiB"});
            }),
            "x.toml:6: size: expected a size from 1B to 1KiB, found \"2KiB\"");
  EXPECT_EQ(wrong([&] {
              return fields.duration("time", {"2h", "1d"});
            }),
            "x.toml:8: time: expected a time from 2h to 1d, found \"1h\"");
  EXPECT_EQ(wrong([&] {
              return fields.bytes("text", {"1B", "1KiB"});
            }),
            "x.toml:1: text: \"t\" is not a size: write a number and a unit, such as 90GiB");
  EXPECT_EQ(wrong([&] {
              return fields.duration("text", {"2h", "1d"});
            }),
            "x.toml:1: text: \"t\" is not a time: write it like 1h30m, 90s, 2d or 02:00:00");
  EXPECT_EQ(wrong([&] { return colour("text"); }), "x.toml:1: text: expected one of red, green, found \"t\"");
}

TEST_F(FieldsTest, AnUnknownKeyIsNamedWithTheNearestKnownOne) {
  EXPECT_EQ(message_of([&] {
              (void)fields.table("table", {"innner", "other"});
            }),
            "x.toml:12: table.inner: unknown key: did you mean \"innner\"?");
  EXPECT_EQ(message_of([&] { (void)fields.table("table", {"something"}); }),
            "x.toml:12: table.inner: unknown key");
  EXPECT_EQ(message_of([&] { (void)fields.tables("list", {"at"}); }),
            "x.toml:16: list[2].att: unknown key: did you mean \"at\"?");
}

TEST_F(FieldsTest, MistakesOfTheFileAreWrongUse) {
  try {
    (void)fields.text("integer");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.failure(), Failure::usage);
  }
}

}  // namespace
}  // namespace longship::formats
