// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "base/file.h"
#include "cli/table.h"

namespace longship::cli {
namespace {
using namespace std::chrono_literals;
using testing::HasSubstr;

class TerminalTest : public testing::Test {
 protected:
  ~TerminalTest() override { set_verbosity(Verbosity::normal); }
  [[nodiscard]] Terminal plain() const {
    return {.fd = file_.get(), .live = false, .colour = false, .columns = 80};
  }
  [[nodiscard]] Terminal live(int columns = 80) const {
    return {.fd = file_.get(), .live = true, .colour = false, .columns = columns};
  }
  [[nodiscard]] std::string written() const { return read_file(path_); }

  TemporaryDirectory directory_;
  const std::filesystem::path path_ = directory_.path() / "screen";
  const Fd file_ = open_file(path_, O_RDWR | O_CREAT | O_APPEND);
  ManualClock clock_;
};

TEST_F(TerminalTest, ABarIsFilledToAnEighth) {
  EXPECT_EQ(bar(0, 4), "    ");
  EXPECT_EQ(bar(0.5, 4), "██  ");
  EXPECT_EQ(bar(0.53125, 4), "██▏ ");
  EXPECT_EQ(bar(1, 4), "████");
  EXPECT_EQ(bar(7, 4), "████");
  EXPECT_EQ(bar(-1, 4), "    ");
}

TEST_F(TerminalTest, TheTrainingLineHasBarStepsAndMetrics) {
  const LiveLine::State state{
      .what = "training", .done = 15, .total = 30, .counted = "15/30 steps", .details = "loss 0.21"};
  EXPECT_EQ(progress_words(state, live()), "training ██████████           15/30 steps  loss 0.21");
  EXPECT_EQ(progress_words(state, live(35)), "training 15/30 steps  loss 0.21");  // no room for the bar
  EXPECT_EQ(progress_words(state, live(15)), "training 15/30");                   // no room at all
  EXPECT_EQ(progress_words(state, plain()), "training 15/30 steps  loss 0.21");
}

TEST_F(TerminalTest, ColourOnlyWhereItIsAllowed) {
  auto terminal = live();
  terminal.colour = true;
  const LiveLine::State state{.what = "training", .done = 1, .total = 1, .counted = "", .details = ""};
  EXPECT_THAT(progress_words(state, terminal), HasSubstr("\033[36m████"));
}

TEST_F(TerminalTest, MetricsAreSaidInWords) {
  EXPECT_EQ(steps_words(12, 30), "12/30 steps");
  EXPECT_EQ(steps_words(61214, 0), "61 214 steps");
  EXPECT_EQ(metrics_words({{"loss", 0.21}, {"samples/s", 4180}}), "loss 0.21  4 180 samples/s");
  EXPECT_EQ(metrics_words({{"a\033[2J", 1}}), "a\\x1b[2J 1");  // a script chose the name
}

TEST_F(TerminalTest, ALiveLineIsRedrawnAtMostTenTimesASecond) {
  {
    LiveLine line(live(), clock_);
    for (std::uint64_t i = 0; i < 1000; ++i) {
      line.show({.what = "working", .done = i, .total = 0, .counted = std::to_string(i), .details = ""});
      clock_.advance(1ms);
    }
  }
  const auto text = written();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\r'), 11);  // ten, and the last state
  EXPECT_TRUE(text.ends_with("\rworking 999\033[K\n")) << text;
}

TEST_F(TerminalTest, ElsewhereThereIsALineEveryTenSecondsAndTheLast) {
  {
    LiveLine line(plain(), clock_);
    for (std::uint64_t i = 0; i <= 25; ++i) {
      line.show({.what = "working", .done = i, .total = 0, .counted = std::to_string(i), .details = ""});
      clock_.advance(1s);
    }
  }
  EXPECT_EQ(written(), "working 0\nworking 10\nworking 20\nworking 25\n");
}

TEST_F(TerminalTest, TheLineStepsAsideForAMessage) {
  LiveLine line(live(), clock_);
  line.show({.what = "working", .done = 1, .total = 0, .counted = "1", .details = ""});
  line.clear();
  clock_.advance(1s);
  line.show({.what = "working",
             .done = 2,
             .total = 0,
             .counted = "2",
             .details = ""});  // while the message is written
  line.redraw();
  EXPECT_EQ(written(), "\rworking 1\033[K\r\033[K\rworking 2\033[K");
  line.abandon();
  EXPECT_TRUE(written().ends_with("working 2\033[K\r\033[K"));
}

TEST_F(TerminalTest, NothingIsShownWhenQuiet) {
  set_verbosity(Verbosity::quiet);
  {
    LiveLine line(live(), clock_);
    line.show({.what = "working", .done = 1, .total = 0, .counted = "1", .details = ""});
    const auto progress = make_progress(live(), clock_);
    progress->begin("converting", 10, "files");
    progress->update(5);
    progress->end();
  }
  EXPECT_EQ(written(), "");
}

TEST_F(TerminalTest, ProgressTellsRateAndTimeLeft) {
  const auto progress = make_progress(plain(), clock_);
  progress->begin("converting", 1'000'000'000, "B");
  clock_.advance(10s);
  progress->update(250'000'000);
  clock_.advance(30s);
  progress->update(1'000'000'000);
  progress->end();
  progress->end();  // harmless
  EXPECT_EQ(written(),
            "converting 0 B of 1.0 GB\n"
            "converting 250 MB of 1.0 GB  25 MB/s  30 s left\n"
            "converting 1.0 GB of 1.0 GB  25 MB/s\n");
}

TEST_F(TerminalTest, ProgressWithoutATotalCounts) {
  const auto progress = make_progress(plain(), clock_);
  progress->begin("packing", 0, "files");
  clock_.advance(10s);
  progress->update(61'214);
  progress->end();
  EXPECT_EQ(written(), "packing 0 files\npacking 61 214 files  6 121/s\n");
}

TEST_F(TerminalTest, ProgressOfWhatCannotBeCountedTellsItsTime) {
  const auto progress = make_progress(plain(), clock_);
  progress->begin("installing packages", 0, "");
  clock_.advance(41s);
  progress->end();
  EXPECT_EQ(written(), "installing packages\ninstalling packages  41 s\n");
}

TEST_F(TerminalTest, LinesAreCutOnlyWhereTheyWouldWrap) {
  const std::string table = "JOB     REASON\ndigits  the site has no GPU\n";
  EXPECT_EQ(fit_lines(table, live(14)), "JOB     REASON\ndigits  the s…\n");
  EXPECT_EQ(fit_lines(table, plain()), table);
}

TEST_F(TerminalTest, AFileIsNoTerminal) {
  const auto found = terminal(file_.get());
  EXPECT_FALSE(found.live);
  EXPECT_FALSE(found.colour);
}

}  // namespace
}  // namespace longship::cli
