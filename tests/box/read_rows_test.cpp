// SPDX-License-Identifier: Apache-2.0
#include "box/read_rows.h"

#include <gtest/gtest.h>

namespace longship::box {
namespace {

constexpr std::uint64_t block = 100;

// Reads from `begin` on, just too few for a row; returns where they end.
std::uint64_t almost_a_row(ReadRows& rows, std::uint64_t file, std::uint64_t begin) {
  for (std::size_t i = 1; i < ReadRows::least; ++i, begin += block)
    EXPECT_FALSE(rows.next(file, begin, begin + block));
  return begin;
}

TEST(ReadRowsTest, SomeReadsThatGoOnAreARow) {
  ReadRows rows(block);
  const auto at = almost_a_row(rows, 1, 0);
  EXPECT_EQ(rows.next(1, at, at + 100), at + 100);
  EXPECT_EQ(rows.next(1, at + 100, at + 150), at + 200);
}

TEST(ReadRowsTest, ABlockIsSaidOnce) {
  ReadRows rows(block);
  const auto at = almost_a_row(rows, 1, 0);
  EXPECT_EQ(rows.next(1, at, at + 50), at + 100);
  EXPECT_FALSE(rows.next(1, at + 50, at + 80));
}

TEST(ReadRowsTest, WindowsMayOverlapOrLeaveALittleOut) {
  ReadRows rows(block);
  const auto at = almost_a_row(rows, 1, 0);
  EXPECT_EQ(rows.next(1, at - 60, at + 40), at + 100);
  EXPECT_EQ(rows.next(1, at + 120, at + 200), at + 200);
}

TEST(ReadRowsTest, AJumpBeginsAnother) {
  ReadRows rows(block);
  almost_a_row(rows, 1, 0);
  EXPECT_FALSE(rows.next(1, 1000, 1100));
  EXPECT_FALSE(rows.next(1, 5000, 5100));
}

TEST(ReadRowsTest, TwoRowsOfOneFileAreToldApart) {
  ReadRows rows(block);
  const auto here = almost_a_row(rows, 1, 0), there = almost_a_row(rows, 1, 5000);
  EXPECT_EQ(rows.next(1, here, here + 100), here + 100);
  EXPECT_EQ(rows.next(1, there, there + 100), there + 100);
}

TEST(ReadRowsTest, FilesAreToldApart) {
  ReadRows rows(block);
  const auto at = almost_a_row(rows, 1, 0);
  EXPECT_FALSE(rows.next(2, at, at + 100));
}

TEST(ReadRowsTest, OldRowsAreForgotten) {
  ReadRows rows(block);
  const auto at = almost_a_row(rows, 1, 0);
  for (std::uint64_t file = 2; file < 30; ++file) EXPECT_FALSE(rows.next(file, 0, 100));
  EXPECT_FALSE(rows.next(1, at, at + 100));
}

}  // namespace
}  // namespace longship::box
