// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect.h"
#include "samples.h"

namespace longship::message {
namespace {

using testing::HasSubstr;

TEST(FrameTest, FramesComeOutOfAStreamHoweverItIsTorn) {
  std::string stream;
  for (const auto& message : from_agent_samples()) stream += with_length(encode(message));
  for (const std::size_t step : {std::size_t{1}, std::size_t{3}, std::size_t{64}, stream.size()}) {
    FrameSplitter splitter;
    std::vector<FromAgent> read;
    std::string frame;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      splitter.add(std::string_view(stream).substr(at, step));
      while (splitter.next(frame)) read.push_back(decode_from_agent(frame));
    }
    EXPECT_EQ(read, from_agent_samples()) << step;
  }
}

TEST(FrameTest, ALengthThatMakesNoSenseIsAnErrorBeforeItsBytesAreAwaited) {
  const std::pair<std::string, const char*> wrong[] = {
      {std::string("\xff\xff\xff\xff", 4), "a frame of 4294967295 bytes: the largest"},
      {std::string("\1\0\x80\0", 4), "a frame of 8388609 bytes"},
      {std::string("\0\0\0\0", 4), "a frame of 0 bytes is too short"},
      {std::string("\3\0\0\0", 4), "a frame of 3 bytes is too short"}};
  for (const auto& [bytes, expected] : wrong) {
    FrameSplitter splitter;
    splitter.add(bytes);
    std::string frame;
    EXPECT_THAT(message_of([&] { (void)splitter.next(frame); }), HasSubstr(expected));
  }
}

TEST(FrameTest, TheLargestFrameGoesThroughAndALargerOneIsRefused) {
  const auto empty = encode(FromHub(Chunk{1, "", ""})).size();
  Chunk chunk{1, "", std::string(largest_frame - empty, 'x')};
  FrameSplitter splitter;
  splitter.add(with_length(encode(FromHub(chunk))));
  std::string frame;
  ASSERT_TRUE(splitter.next(frame));
  EXPECT_EQ(std::get<Chunk>(decode_from_hub(frame)), chunk);
  chunk.bytes += 'x';
  EXPECT_THAT(message_of([&] { (void)encode(FromHub(chunk)); }), HasSubstr("a frame of 8388609 bytes"));
  EXPECT_THROW((void)with_length(std::string(largest_frame + 1, 'x')), Error);
  EXPECT_THROW((void)decode_from_hub(std::string(largest_frame + 1, 'x')), Error);
}

TEST(FrameTest, TheJsonsLengthStaysWithinTheFrame) {
  const auto frame = encode(FromHub(Seen{1}));
  for (std::size_t size = 0; size < frame.size(); ++size)
    EXPECT_THROW((void)decode_from_hub(std::string_view(frame).substr(0, size)), Error) << size;
  EXPECT_THAT(message_of([] { (void)decode_from_hub(std::string("\xff\xff\xff\x7f{}", 6)); }),
              HasSubstr("its JSON has 2147483647 bytes, but only 2 follow"));
  EXPECT_THAT(message_of([] { (void)decode_from_agent("abc"); }),
              HasSubstr("a frame of 3 bytes is too short"));
}

TEST(FrameTest, WhatWasReadDoesNotPileUp) {
  FrameSplitter splitter;
  const auto bytes = with_length(encode(FromHub(Chunk{1, "", std::string(1000, 'x')})));
  std::string frame;
  for (int i = 0; i < 10'000; ++i) {
    splitter.add(bytes);
    ASSERT_TRUE(splitter.next(frame));
    ASSERT_FALSE(splitter.next(frame));
  }
}

}  // namespace
}  // namespace longship::message
