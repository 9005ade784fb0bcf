// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "formats/document.h"
#include "message.h"

namespace longship::formats {
namespace {

using testing::HasSubstr;

std::string rewritten(const std::string& text) {
  return dump_json(parse_json(text, "x.json"));
}

TEST(JsonTest, ReadsBackAsItWasWritten) {
  for (const auto* text :
       {"null", "true", "false", "0", "-1", "9223372036854775807", "-9223372036854775808", "0.5", "-1.5e+300",
        "\"\"", "\"a b\"", R"("\"\\\n\t\u0001")", "\"\xc3\xa4\xf0\x9f\x9a\xa2\"", "[]", "[1,[2,[]]]", "{}",
        R"({"b":1,"a":{"c":[null]}})"})
    EXPECT_EQ(rewritten(text), text);
}

TEST(JsonTest, EscapesBecomeCharacters) {
  EXPECT_EQ(parse_json(R"("\/\b\f\r\u00e4\u20AC\ud83d\udea2")", "x").text(),
            "/\b\f\r\xc3\xa4\xe2\x82\xac\xf0\x9f\x9a\xa2");
  EXPECT_EQ(parse_json(R"("a\u0000b")", "x").text(), std::string("a\0b", 3));
}

TEST(JsonTest, NumbersKeepTheirKind) {
  EXPECT_TRUE(parse_json("1", "x").is(Kind::integer));
  EXPECT_TRUE(parse_json("1.0", "x").is(Kind::number));
  EXPECT_TRUE(parse_json("1e2", "x").is(Kind::number));
  EXPECT_TRUE(parse_json("9223372036854775808", "x").is(Kind::number));
  EXPECT_EQ(rewritten("1.0"), "1.0");
  EXPECT_EQ(rewritten("0.1"), "0.1");
}

TEST(JsonTest, EveryValueKnowsItsPlace) {
  const auto document = parse_json("{\n  \"a\": 1,\n  \"b\": [\n    2\n, 3],\n\n \"c\"\n:\n{}}", "x.json");
  const auto line = [](const Value* value) { return value->place().text(); };
  EXPECT_EQ(line(document.find("a")), "x.json:2");
  EXPECT_EQ(document.find("a")->place().column, 8);
  EXPECT_EQ(line(&document.find("b")->array()[0]), "x.json:4");
  EXPECT_EQ(line(&document.find("b")->array()[1]), "x.json:5");
  EXPECT_EQ(line(document.find("c")), "x.json:9");
  EXPECT_EQ(document.table().entry("c")->place.line, 7);
}

TEST(JsonTest, WhatIsWrongIsToldWithItsPlace) {
  const std::map<std::string, std::string> wrong = {
      {"", "x.json:1:1: the document ends too early"},
      {"{\"a\": }", "x.json:1:7: expected a value"},
      {"[1, 2", "x.json:1:6: expected a comma or ]"},
      {"[1 2]", "x.json:1:4: expected a comma or ]"},
      {"{\"a\" 1}", "x.json:1:6: expected a colon after the key"},
      {"{a: 1}", "x.json:1:2: expected a key in double quotes"},
      {"{\"a\": 1,}", "x.json:1:9: expected a key in double quotes"},
      {"[1,]", "x.json:1:4: expected a value"},
      {"1 2", "x.json:1:3: something follows after the end of the document"},
      {"\n\n{\"a\": 1,\n \"a\": 2}", "x.json:4:2: the key \"a\" is here a second time"},
      {"\"abc", "x.json:1:5: the text has no closing quote"},
      {"\"a\nb\"", "x.json:1:3: a control character in a text must be written as \\u00XX"},
      {"\"\\x\"", "x.json:1:3: unknown escape after the backslash"},
      {"\"\\", "x.json:1:3: unknown escape after the backslash"},
      {"\"\\u12G4\"", "expected four hexadecimal digits after \\u"},
      {"\"\\u12", "expected four hexadecimal digits after \\u"},
      {"\"\\ud800\"", "half of a surrogate pair"},
      {"\"\\ud800\\u0041\"", "half of a surrogate pair"},
      {"\"\\udc00\"", "half of a surrogate pair"},
      {"\"ab\xff\"", "x.json:1:4: bytes that are not UTF-8"},
      {"\"\xc0\x80\"", "bytes that are not UTF-8"},
      {"\"\xed\xa0\x80\"", "bytes that are not UTF-8"},
      {"01", "something follows"},
      {"-", "x.json:1:1: expected a value"},
      {"1.", "expected a digit after the decimal point"},
      {"1e", "expected a digit in the exponent"},
      {"1e999", "the number is too large or too small for a double"},
      {"+1", "expected a value"},
      {"NaN", "expected a value"},
      {"tru", "expected a value"},
      {"// c\n1", "expected a value"},
  };
  for (const auto& [text, reason] : wrong)
    EXPECT_THAT(message_of([&, &document = text] { (void)parse_json(document, "x.json"); }),
                HasSubstr(reason))
        << text;
}

TEST(JsonTest, DepthAndSizeAreLimited) {
  EXPECT_THAT(message_of([] { (void)parse_json(std::string(1'000'000, '['), "x"); }),
              HasSubstr("x:1:65: nested too deeply"));
  EXPECT_NO_THROW((void)parse_json(std::string(64, '[') + std::string(64, ']'), "x"));
  EXPECT_THAT(message_of([] { (void)parse_json("[1, 2]", "x", {.bytes = 5}); }),
              HasSubstr("x: 6 bytes, more than the 5 that are allowed here"));
}

TEST(JsonTest, AcceptsExactlyWhatAnotherParserAccepts) {
  const std::string letters = "{}[]:,\"\\ua0-1.e+ \ntruefalsn";
  unsigned state = 1;
  const auto random = [&](std::size_t below) {
    return (state = state * 1664525u + 1013904223u) / 65536u % below;
  };
  const std::string seeds[] = {R"({"a":[1,2.5,-3e2],"b":"x\u00e4\n"})", R"([true,false,null,{"k":{}}])",
                               R"("\ud83d\udea2")"};
  for (int i = 0; i < 60'000; ++i) {
    auto text = seeds[random(3)];
    for (auto changes = random(3) + 1; changes > 0; --changes) {
      const auto at = random(text.size());
      if (random(2) == 0)
        text.erase(at, 1);
      else
        text.insert(at, 1, letters[random(letters.size())]);
      if (text.empty()) break;
    }
    const auto message = message_of([&] { (void)parse_json(text, "x"); });
    if (message.find("second time") != std::string::npos) continue;  // it lets a key come twice
    EXPECT_EQ(message.empty(), nlohmann::json::accept(text)) << text;
  }
}

TEST(JsonTest, IsWrittenForPeopleWithIndentation) {
  Table table;
  table.set("list", Array{1, "two"});
  table.set("none", Array{});
  EXPECT_EQ(dump_json(table, Layout::pretty),
            "{\n  \"list\": [\n    1,\n    \"two\"\n  ],\n  \"none\": []\n}");
}

TEST(JsonTest, WhatItCannotHoldIsReplacedOrRefused) {
  EXPECT_EQ(json_text("a\xff\x7f"), "\"a\xef\xbf\xbd\\u007f\"");
  EXPECT_EQ(json_text("\xe2\x82"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
  EXPECT_EQ(message_of([] { (void)dump_json(std::numeric_limits<double>::infinity()); }),
            "JSON cannot hold the number inf");
  EXPECT_EQ(message_of([] { (void)Value(std::uint64_t{1} << 63); }), "a number is too large for a document");
}

TEST(ValueTest, AskedForAsAnotherKindItNamesItsPlace) {
  const auto document = parse_json("{\n\"a\": 3}", "x.json");
  EXPECT_EQ(message_of([&] { (void)document.find("a")->text(); }),
            "x.json:2: expected text in quotes, found 3");
  EXPECT_EQ(message_of([&] { (void)document.find("a")->table(); }), "x.json:2: expected a table, found 3");
  EXPECT_EQ(message_of([&] { (void)document.integer(); }), "x.json:1: expected an integer, found a table");
  EXPECT_EQ(document.find("a")->number(), 3.0);
  EXPECT_EQ(document.find("b"), nullptr);
  EXPECT_EQ(document.find("a")->find("b"), nullptr);
}

TEST(ValueTest, IsShownOnOneShortLine) {
  EXPECT_EQ(Value(true).shown(), "true");
  EXPECT_EQ(Value(0.5).shown(), "0.5");
  EXPECT_EQ(Value("a\nb").shown(), "\"a\\nb\"");
  EXPECT_EQ(Value(std::string(100, 'x')).shown(), "\"" + std::string(60, 'x') + "…\"");
  EXPECT_EQ(Value().shown(), "null");
  EXPECT_EQ(Place{}.text(), "?");
}

TEST(TableTest, KeepsOrderAndReplaces) {
  Table table;
  table.set("b", 1);
  table.set("a", 2);
  table.set("b", 3);
  EXPECT_EQ(table.keys(), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(table.find("b")->integer(), 3);
  EXPECT_FALSE(table.add("a", 9, {}));
  EXPECT_EQ(table.find("a")->integer(), 2);
}

TEST(TableTest, IsTheSameWhenItIsLarge) {
  Table table;
  for (int i = 0; i < 100; ++i) {
    const auto key = std::to_string(i);
    EXPECT_EQ(table.find(key), nullptr);
    EXPECT_TRUE(table.add(key, i, {}));
    for (int j = 0; j <= i; ++j) ASSERT_EQ(table.find(std::to_string(j))->integer(), j) << i;
    EXPECT_FALSE(table.add(key, -1, {}));
  }
  table.set("7", 700);
  table.set("new", 1);
  const Table copy = table;
  EXPECT_EQ(copy.size(), 101u);
  EXPECT_EQ(copy.find("7")->integer(), 700);
  EXPECT_EQ(copy.find("new")->integer(), 1);
  EXPECT_EQ(copy.find("101"), nullptr);
}

}  // namespace
}  // namespace longship::formats
