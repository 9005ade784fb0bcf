// SPDX-License-Identifier: Apache-2.0
#include "net/event_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "expect.h"

namespace longship::net {
namespace {

std::vector<ServerEvent> events_in(std::string_view text, std::size_t piece = 1000) {
  std::vector<ServerEvent> events;
  EventLines lines([&](const ServerEvent& event) { events.push_back(event); });
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) lines.add(text.substr(0, piece));
  return events;
}

TEST(EventLinesTest, AnEventEndsWithAnEmptyLine) {
  const auto events = events_in("id: 7\nevent: job\ndata: {\"a\":1}\n\nevent: job\ndata: not yet\n");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, "job");
  EXPECT_EQ(events[0].data, "{\"a\":1}");
  EXPECT_EQ(events[0].id, "7");
}

TEST(EventLinesTest, HoweverTheBytesArriveTheEventsAreTheSame) {
  const std::string_view text = ": hello\n\nevent: a\r\ndata: 1\r\ndata: 2\r\n\r\nid: 3\ndata:x\n\n";
  for (std::size_t piece = 1; piece < 20; ++piece) {
    const auto events = events_in(text, piece);
    ASSERT_EQ(events.size(), 2u) << piece;
    EXPECT_EQ(events[0].kind, "a");
    EXPECT_EQ(events[0].data, "1\n2");
    EXPECT_EQ(events[1].kind, "message");
    EXPECT_EQ(events[1].data, "x");
    EXPECT_EQ(events[1].id, "3");
  }
}

TEST(EventLinesTest, CommentsAndEventsWithoutDataAreNothing) {
  EXPECT_TRUE(events_in(": still here\n\nevent: job\n\nid: 4\n\n").empty());
}

TEST(EventLinesTest, ALineWithoutAnEndIsAnError) {
  EventLines lines([](const ServerEvent&) {});
  EXPECT_EQ(message_of([&] { lines.add(std::string(5u << 20, 'x')); }),
            "the stream of events makes no sense: a line without an end");
}

}  // namespace
}  // namespace longship::net
