// SPDX-License-Identifier: Apache-2.0
#include "formats/number.h"

#include <gtest/gtest.h>

#include <limits>

namespace longship::formats {
namespace {

TEST(NumberTest, DigitsAreGroupedInThrees) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(4180), "4 180");
  EXPECT_EQ(grouped(1234567), "1 234 567");
}

TEST(NumberTest, SecondsGetTheUnitThatFits) {
  EXPECT_EQ(human_seconds(0.0851), "85 ms");
  EXPECT_EQ(human_seconds(0.9999), "1.0 s");
  EXPECT_EQ(human_seconds(4.21), "4.2 s");
  EXPECT_EQ(human_seconds(9.99), "10 s");
  EXPECT_EQ(human_seconds(130), "2 min 10 s");
  EXPECT_EQ(human_seconds(11100), "3 h 5 min");
  EXPECT_EQ(human_seconds(-1), "?");
  EXPECT_EQ(human_seconds(std::numeric_limits<double>::infinity()), "?");
}

TEST(NumberTest, ValuesKeepThreeDigits) {
  EXPECT_EQ(human_value(0.2134), "0.213");
  EXPECT_EQ(human_value(4180.4), "4 180");
  EXPECT_EQ(human_value(-4180.4), "-4 180");
  EXPECT_EQ(human_value(1.3e-7), "1.3e-07");
  EXPECT_EQ(human_value(0), "0");
  EXPECT_EQ(human_value(-0.0), "0");
  EXPECT_EQ(human_value(std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(NumberTest, SmallPercentagesAreNotRoundedToNothing) {
  EXPECT_EQ(percent(0.943), "94 %");
  EXPECT_EQ(percent(0.004), "0.4 %");
  EXPECT_EQ(percent(0), "0 %");
}

}  // namespace
}  // namespace longship::formats
