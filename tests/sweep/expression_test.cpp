// SPDX-License-Identifier: Apache-2.0
#include "sweep/expression.h"

#include <gtest/gtest.h>

#include "expect.h"

namespace longship::sweep {
namespace {

std::optional<Expression::Kind> kind_of(std::string_view name) {
  if (name == "width" || name == "batch") return Expression::Kind::number;
  if (name == "net") return Expression::Kind::text;
  if (name == "norm") return Expression::Kind::truth;
  return {};
}

Expression read(std::string_view text) {
  return Expression(text, kind_of, {"width", "batch", "net", "norm"});
}

bool holds(std::string_view text) {
  formats::Table values;
  values.set("width", 64);
  values.set("batch", 0.5);
  values.set("net", "small");
  values.set("norm", true);
  return read(text).holds(values);
}

TEST(ExpressionTest, NumbersAreComputedWithAndCompared) {
  for (const auto* text :
       {"width * batch == 32", "width + 2 * 3 == 70", "(width + 2) * 3 == 198", "-width < 0",
        "width / 2 - 1 >= 31", "1e2 > width", "width - 4 - 4 == 56", "width <= 64"})
    EXPECT_TRUE(holds(text)) << text;
  for (const auto* text : {"width < 64", "width != 64", "batch > .5"}) EXPECT_FALSE(holds(text)) << text;
}

TEST(ExpressionTest, WordsJoinComparisons) {
  for (const auto* text : {"net == \"small\" and norm", "net == 'large' or width > 1", "not net == 'large'",
                           "norm", "not (width < 1 or batch < 0)", "net != 'large' and (norm or width < 0)"})
    EXPECT_TRUE(holds(text)) << text;
  for (const auto* text : {"not norm", "net != 'small' or width < 1", "norm and net == 'large'"})
    EXPECT_FALSE(holds(text)) << text;
}

TEST(ExpressionTest, ARuleAboutWhatATrialDoesNotHaveIsKept) {
  EXPECT_TRUE(read("width < 1").holds({}));
}

TEST(ExpressionTest, WhatIsWrongIsNamedWithItsColumn) {
  const auto complaint = [](std::string_view text) { return message_of([&] { (void)read(text); }); };
  EXPECT_EQ(complaint("widht < 3"),
            "at column 1 of 'widht < 3': there is no parameter \"widht\": did you mean \"width\"?");
  EXPECT_EQ(complaint("width"), "at column 1 of 'width': expected a comparison, found a number");
  EXPECT_EQ(complaint("width < "),
            "at column 9 of 'width < ': expected a parameter, a number or a text, found the end");
  EXPECT_EQ(complaint("net < 'a'"), "at column 1 of 'net < 'a'': a text is compared with == or !=");
  EXPECT_EQ(complaint("net == 3"), "at column 8 of 'net == 3': expected a text, found a number");
  EXPECT_EQ(complaint("width * net > 1"),
            "at column 9 of 'width * net > 1': expected a number, found a text");
  EXPECT_EQ(complaint("(width < 1"), "at column 11 of '(width < 1': expected \")\", found the end");
  EXPECT_EQ(complaint("net == 'a"), "at column 8 of 'net == 'a': this quote is never closed");
  EXPECT_EQ(complaint("width < 1 batch"),
            "at column 11 of 'width < 1 batch': expected \"and\", \"or\" or the end, found \"batch\"");
  EXPECT_EQ(complaint("(width < 1) < 2"),
            "at column 1 of '(width < 1) < 2': a comparison cannot be compared once more");
  EXPECT_NE(complaint(std::string(200, '(')).find("nested too deeply"), std::string::npos);
  EXPECT_NE(complaint(std::string(200, '-')).find("nested too deeply"), std::string::npos);
  EXPECT_EQ(complaint(std::string(5000, ' ')), "longer than 4096 characters");
}

}  // namespace
}  // namespace longship::sweep
