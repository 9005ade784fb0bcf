// SPDX-License-Identifier: Apache-2.0
#include "formats/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "message.h"

namespace longship::formats {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

TEST(BytesTest, AreReadAsPeopleWriteThem) {
  const std::map<std::string, std::uint64_t> known = {
      {"0", 0},
      {"4096", 4096},
      {"512B", 512},
      {"1kB", 1000},
      {"1KB", 1000},
      {"1KiB", 1024},
      {"500MB", 500'000'000},
      {"90GiB", 96'636'764'160},
      {"90 GiB", 96'636'764'160},
      {" 1.5 TB ", 1'500'000'000'000},
      {"1.5KiB", 1536},
      {"0.1GB", 100'000'000},
      {"1.0000000000000000000000001kB", 1000},
      {"7PiB", 7'881'299'347'898'368},
      {"9223372036854775807", 9'223'372'036'854'775'807},
  };
  for (const auto& [text, bytes] : known) EXPECT_EQ(parse_bytes(text), bytes) << text;
}

TEST(BytesTest, WhatIsNoSizeIsToldWhy) {
  const std::map<std::string, std::string> wrong = {
      {"", "\"\" is not a size: write a number and a unit, such as 90GiB"},
      {"GiB", "is not a size: write a number"},
      {".5GB", "is not a size: write a number"},
      {"5.GB", "is not a size: write a number"},
      {"-1GB", "is not a size: it is negative"},
      {"1.5", "is not a size: there are no parts of a byte"},
      {"1.5B", "is not a size: there are no parts of a byte"},
      {"90G", "can be read in two ways: write GiB (powers of 1024) or GB (powers of 1000)"},
      {"1k", "can be read in two ways: write KiB"},
      {"90Gib", "unknown unit: did you mean \"GiB\"?"},
      {"5 parsecs", "unknown unit"},
      {"1e9", "unknown unit"},
      {"9223372036854775808", "is too large"},
      {"99999999999999999999999", "is too large"},
      {"9999PiB", "is too large"},
      {"1\x1b[31mGB", "\"1\\x1b[31mGB\" is not a size"},
  };
  for (const auto& [text, reason] : wrong)
    EXPECT_THAT(message_of([&] { (void)parse_bytes(text); }), HasSubstr(reason)) << text;
}

TEST(BytesTest, AreShownWithTwoOrThreeDigits) {
  const std::map<std::uint64_t, std::string> shown = {
      {0, "0 B"},
      {999, "999 B"},
      {1000, "1.0 kB"},
      {1500, "1.5 kB"},
      {9949, "9.9 kB"},
      {9950, "10 kB"},
      {763'123'456, "763 MB"},
      {999'499, "999 kB"},
      {999'500, "1.0 MB"},
      {5'000'000'000, "5.0 GB"},
      {18'446'744'073'709'551'615u, "18 EB"},
  };
  for (const auto& [bytes, text] : shown) EXPECT_EQ(human_bytes(bytes), text);
}

TEST(DurationTest, IsReadAsPeopleWriteIt) {
  const std::map<std::string, int> known = {
      {"2h", 7200},         {"10m", 600},       {"1h30m", 5400},        {"90s", 90},   {"2d", 172'800},
      {"1d2h3m4s", 93'784}, {"02:00:00", 7200}, {"100:00:01", 360'001}, {" 5m ", 300}, {"0s", 0},
  };
  for (const auto& [text, count] : known) EXPECT_EQ(parse_duration(text), seconds(count)) << text;
}

TEST(DurationTest, WhatIsNoTimeIsToldWhy) {
  const std::map<std::string, std::string> wrong = {
      {"", "\"\" is not a time: write it like 1h30m, 90s, 2d or 02:00:00"},
      {"30", "is not a time: it needs a unit, such as 30m or 30s"},
      {"h", "is not a time: write it like"},
      {"1.5h", "is not a time: write it like"},
      {"1m1h", "is not a time: write it like"},
      {"1h1h", "is not a time: write it like"},
      {"1h30", "is not a time: write it like"},
      {"2 h", "is not a time: write it like"},
      {"10min", "is not a time: write it like"},
      {"02:00", "is not a time: write it like"},
      {"1:60:00", "is not a time: write it like"},
      {"1:2:3", "is not a time: write it like"},
      {"-2h", "is not a time: it is negative"},
      {"99999999999999999999h", "is too long"},
      {"9999999999999d", "is too long"},
  };
  for (const auto& [text, reason] : wrong)
    EXPECT_THAT(message_of([&] { (void)parse_duration(text); }), HasSubstr(reason)) << text;
}

TEST(DurationTest, ReadsBackAsItIsShown) {
  EXPECT_EQ(human_duration(seconds(0)), "0s");
  EXPECT_EQ(human_duration(seconds(5400)), "1h30m");
  EXPECT_EQ(human_duration(seconds(93'784)), "1d2h3m4s");
  EXPECT_EQ(human_duration(seconds(-60)), "-1m");
  for (int count = 1; count < 40'000'000; count = count * 3 + 1)
    EXPECT_EQ(parse_duration(human_duration(seconds(count))), seconds(count));
}

}  // namespace
}  // namespace longship::formats
