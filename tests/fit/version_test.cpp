// SPDX-License-Identifier: Apache-2.0
#include "fit/version.h"

#include <gtest/gtest.h>

namespace longship::fit {
namespace {

TEST(VersionTest, NumbersAreComparedAsNumbersAndNotAsText) {
  EXPECT_LT(Version(2, 9), Version(2, 31));
  EXPECT_LT(Version(4, 18), Version(5, 4));
  EXPECT_LT(*Version::parse("2.31"), *Version::parse("2.31.1"));
  EXPECT_GT(*Version::parse("10"), *Version::parse("9.99"));
}

TEST(VersionTest, ZerosAtTheEndMakeNoDifference) {
  EXPECT_EQ(*Version::parse("5.10.0"), Version(5, 10));
  EXPECT_EQ(*Version::parse("3"), *Version::parse("3.0.0"));
}

TEST(VersionTest, WhatADistributionAppendsIsLeftOut) {
  EXPECT_EQ(*Version::parse("5.10.0-28-amd64"), Version(5, 10));
  EXPECT_EQ(*Version::parse("4.18.0-553.el8_10.x86_64"), Version(4, 18));
  EXPECT_EQ(*Version::parse("6.1.0rc3"), Version(6, 1));
  EXPECT_EQ(*Version::parse("2.36."), Version(2, 36));
}

TEST(VersionTest, TextWithoutANumberAtItsStartIsNoVersion) {
  for (const auto* text : {"", "v2.31", ".5", "-1", "musl", "99999999999999999999"})
    EXPECT_FALSE(Version::parse(text)) << text;
}

TEST(VersionTest, IsShownWithAtLeastTwoNumbers) {
  EXPECT_EQ(Version(2, 31).text(), "2.31");
  EXPECT_EQ(Version(5, 0).text(), "5.0");
  EXPECT_EQ(Version(6, 1, 12).text(), "6.1.12");
  EXPECT_EQ(Version().text(), "0.0");
}

}  // namespace
}  // namespace longship::fit
