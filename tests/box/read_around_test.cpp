// SPDX-License-Identifier: Apache-2.0
#include "box/read_around.h"

#include <gtest/gtest.h>

namespace longship::box {
namespace {

constexpr auto part = ReadAround::part;
using Stretch = ReadAround::Stretch;

TEST(ReadAroundTest, WhoComesToAPartFirstHasAllOfItRead) {
  ReadAround image(100 * part);
  EXPECT_EQ(image.around(5 * part + 1234), (Stretch{5 * part, part}));
  EXPECT_EQ(image.around(5 * part + 99999), Stretch{});
  EXPECT_EQ(image.around(9 * part), (Stretch{9 * part, part}));
}

TEST(ReadAroundTest, AheadOfWhoReadsInARowMoreIsRead) {
  ReadAround image(100 * part);
  EXPECT_EQ(image.around(0), (Stretch{0, part}));
  EXPECT_EQ(image.around(1 * part), (Stretch{1 * part, 2 * part}));
  EXPECT_EQ(image.around(2 * part), (Stretch{3 * part, 2 * part}));
  EXPECT_EQ(image.around(3 * part), (Stretch{5 * part, 2 * part}));
}

TEST(ReadAroundTest, ButNeverMoreThanSomeParts) {
  ReadAround image(100 * part);
  for (std::uint64_t number = 0; number < 50; ++number) {
    const auto asked = image.around(number * part);
    EXPECT_LE(asked.offset + asked.length, (number + 1 + ReadAround::most_ahead) * part);
  }
  EXPECT_EQ(image.around(50 * part), (Stretch{57 * part, part}));
}

TEST(ReadAroundTest, NothingBehindTheEndIsAskedFor) {
  ReadAround image(part + 10);
  EXPECT_EQ(image.around(part + 5), (Stretch{part, 10}));
  EXPECT_EQ(image.around(2 * part), Stretch{});
  EXPECT_EQ(ReadAround(0).around(0), Stretch{});
}

// One block in each of many parts.
std::uint64_t asked_by_random_reads(ReadAround& image, std::uint64_t from, std::uint64_t to) {
  std::uint64_t asked = 0;
  for (std::uint64_t number = from; number < to; number += 2) asked += image.around(number * part).length;
  return asked;
}

TEST(ReadAroundTest, WhereNothingIsNeededTwiceItStops) {
  ReadAround image(10'000 * part);
  EXPECT_LE(asked_by_random_reads(image, 0, 2'000), (ReadAround::trial + 1) * part);
}

TEST(ReadAroundTest, AndBeginsAgainWhenItWouldHavePaid) {
  ReadAround image(10'000 * part);
  asked_by_random_reads(image, 0, 2'000);
  std::uint64_t asked = 0;
  for (std::uint64_t number = 5'000; number < 5'400; number += 2)
    for (int block = 0; block < 5; ++block) asked += image.around(number * part).length;
  EXPECT_GT(asked, 50 * part);
}

}  // namespace
}  // namespace longship::box
