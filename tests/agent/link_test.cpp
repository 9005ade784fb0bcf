// SPDX-License-Identifier: Apache-2.0
#include "agent/link.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "agent/in_process.h"
#include "base/error.h"
#include "expect.h"

namespace longship::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(LinkTest, PausesGrowToAMinuteAndDifferByChance) {
  EXPECT_EQ(pause_before(0, 0), Duration{});
  EXPECT_EQ(pause_before(1, 0), seconds(1));
  EXPECT_EQ(pause_before(1, 1), milliseconds(500));
  EXPECT_EQ(pause_before(4, 0), seconds(8));
  EXPECT_EQ(pause_before(7, 0), seconds(60));
  EXPECT_EQ(pause_before(1000, 0), seconds(60));
}

bool readable(int fd) {
  pollfd polled{fd, POLLIN, 0};
  return ::poll(&polled, 1, 0) == 1;
}

TEST(InProcessTest, FramesComeInOrderAndWakeWhoWaits) {
  std::vector<std::string> sent;
  InProcess stream([&](std::string frame) { sent.push_back(std::move(frame)); });
  EXPECT_FALSE(readable(stream.fd()));
  stream.deliver("one");
  stream.deliver("two");
  EXPECT_TRUE(readable(stream.fd()));
  EXPECT_EQ(stream.receive(milliseconds(0)), "one");
  EXPECT_TRUE(readable(stream.fd()));
  EXPECT_EQ(stream.receive(milliseconds(0)), "two");
  EXPECT_FALSE(readable(stream.fd()));
  EXPECT_EQ(stream.receive(milliseconds(0)), std::nullopt);
  stream.send("three");
  EXPECT_EQ(sent, std::vector<std::string>{"three"});
}

TEST(InProcessTest, WhatCameBeforeTheEndIsStillReceived) {
  int closed = 0;
  {
    InProcess stream([](std::string) {}, [&] { ++closed; });
    stream.deliver("last");
    stream.end("the hub ends");
    stream.deliver("too late");
    EXPECT_TRUE(stream.open());
    EXPECT_EQ(stream.receive(milliseconds(0)), "last");
    EXPECT_FALSE(stream.open());
    EXPECT_EQ(stream.receive(milliseconds(0)), std::nullopt);
    EXPECT_EQ(stream.ended_because(), "the hub ends");
    EXPECT_EQ(message_of([&] { stream.send("x"); }), "the stream is closed");
    EXPECT_EQ(closed, 0);
    stream.close();
    stream.close();
  }
  EXPECT_EQ(closed, 1);
}

}  // namespace
}  // namespace longship::agent
