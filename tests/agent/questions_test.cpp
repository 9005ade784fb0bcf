// SPDX-License-Identifier: Apache-2.0
// Metrics and reports out of real logs; agent_test.cpp has the files, and what is not for reading.
#include "agent/questions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "formats/document.h"
#include "papers.h"
#include "record/writer.h"

namespace longship::agent {
namespace {

class QuestionsTest : public testing::Test {
 protected:
  QuestionsTest() {
    spool.make();
    std::filesystem::create_directories(directory() / "record");
  }
  std::filesystem::path directory() const { return spool.attempt(attempt); }
  void record(int steps) const {
    const auto writer = record::Writer::open(directory() / "record", {0, 1, 0, "n1"});
    for (int step = 1; step <= steps; ++step) {
      const std::pair<std::string_view, double> values[] = {{"loss", 1.0 / step}, {"odd", std::nan("")}};
      writer->metrics(static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(steps), values);
    }
  }
  formats::Value metrics(std::uint64_t most) const {
    const auto told = answer(spool, {1, attempt, message::About::metrics, {}, 0, most});
    EXPECT_EQ(told.error, "");
    return formats::parse_json(told.bytes, "answer");
  }

  TemporaryDirectory place{"questions-test"};
  message::Spool spool{place.path() / "spool"};
  AttemptId attempt = AttemptId::parse("digits-1.1");
};

TEST_F(QuestionsTest, MetricsAreSeriesOfStepSecondsAndValue) {
  record(3);
  const auto told = metrics(500);
  EXPECT_EQ(told.find("steps")->integer(), 3);
  const auto& loss = told.find("series")->array().at(0);
  EXPECT_EQ(loss.find("name")->text(), "loss");
  const auto& last = loss.find("points")->array().at(2).array();
  EXPECT_EQ(last.at(0).integer(), 3);
  EXPECT_GE(last.at(1).number(), 0.0);
  EXPECT_DOUBLE_EQ(last.at(2).number(), 1.0 / 3);
  const auto& odd = told.find("series")->array().at(1).find("points")->array().at(0).array();
  EXPECT_TRUE(odd.at(2).is(formats::Kind::null)) << "JSON has no NaN";
}

TEST_F(QuestionsTest, ManyPointsAreThinnedWithTheFirstAndTheLastKept) {
  record(1000);
  const auto told = metrics(10);
  const auto& points = told.find("series")->array().at(0).find("points")->array();
  ASSERT_EQ(points.size(), 10u);
  EXPECT_EQ(points.front().array().at(0).integer(), 1);
  EXPECT_EQ(points.back().array().at(0).integer(), 1000);
}

TEST_F(QuestionsTest, AReportIsWhatTheCommandPrints) {
  record(5);
  const auto told = answer(spool, {1, attempt, message::About::report, {}, 0, 0});
  EXPECT_EQ(told.error, "");
  EXPECT_NE(formats::parse_json(told.bytes, "answer").find("ranks"), nullptr);
}

TEST_F(QuestionsTest, ALinkInsteadOfALogIsNotFollowed) {
  write_file(place.path() / "secret", "secret");
  std::filesystem::create_symlink(place.path() / "secret", directory() / "record" / "rank-00000.rec");
  const auto told = answer(spool, {1, attempt, message::About::metrics, {}, 0, 10});
  EXPECT_NE(told.error, "");
  EXPECT_EQ(told.bytes, "");
}

}  // namespace
}  // namespace longship::agent
