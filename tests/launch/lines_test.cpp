// SPDX-License-Identifier: Apache-2.0
#include "launch/lines.h"

#include <gmock/gmock.h>

namespace longship::launch {
namespace {

using testing::ElementsAre;

struct Collected {
  explicit Collected(std::size_t limit) : splitter(limit) {}
  void feed(std::string_view bytes) { splitter.feed(bytes, take); }
  void finish() { splitter.finish(take); }
  LineSplitter splitter;
  std::vector<std::string> lines;
  LineSplitter::Take take = [this](std::string_view line) { lines.emplace_back(line); };
};

TEST(LineSplitter, LineInPiecesComesWhole) {
  Collected collected(100);
  collected.feed("on");
  collected.feed("e\ntw");
  EXPECT_THAT(collected.lines, ElementsAre("one"));
  collected.feed("o\n");
  EXPECT_THAT(collected.lines, ElementsAre("one", "two"));
}

TEST(LineSplitter, EmptyLinesStay) {
  Collected collected(100);
  collected.feed("\n\na\n");
  EXPECT_THAT(collected.lines, ElementsAre("", "", "a"));
}

TEST(LineSplitter, LineWithoutAnEndComesAtTheEnd) {
  Collected collected(100);
  collected.feed("a\nb");
  collected.finish();
  collected.finish();
  EXPECT_THAT(collected.lines, ElementsAre("a", "b"));
}

TEST(LineSplitter, LongLineComesInPieces) {
  Collected collected(4);
  collected.feed("abcdefghij\n");
  EXPECT_THAT(collected.lines, ElementsAre("abcd", "efgh", "ij"));
}

// However the bytes are cut, no byte is lost and none is added.
TEST(LineSplitter, AnyCutGivesTheSameLines) {
  const std::string text = "first\n\nsecond line\nthird";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    Collected collected(1000);
    for (std::size_t at = 0; at < text.size(); at += step)
      collected.feed(std::string_view(text).substr(at, step));
    collected.finish();
    EXPECT_THAT(collected.lines, ElementsAre("first", "", "second line", "third")) << step;
  }
}

TEST(AfterReturns, OnlyTheLastVersionOfAProgressBarIsShown) {
  EXPECT_EQ(after_returns("10 %\r20 %\r30 %"), "30 %");
  EXPECT_EQ(after_returns("30 %\r"), "30 %");
  EXPECT_EQ(after_returns("plain"), "plain");
  EXPECT_EQ(after_returns("\r"), "");
}

TEST(Tail, KeepsTheLastLines) {
  Tail tail(2);
  tail.feed("a\nb\nc\nd without end");
  EXPECT_EQ(tail.text(), "c\nd without end\n");
}

TEST(Tail, StaysSmallWhenFlooded) {
  Tail tail(20);
  const std::string flood(1u << 20, 'x');
  for (int i = 0; i < 16; ++i) tail.feed(flood);
  EXPECT_LE(tail.text().size(), 20u * 1001u);
}

}  // namespace
}  // namespace longship::launch
