// SPDX-License-Identifier: Apache-2.0
#include "hub/study_journals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "expect.h"

namespace longship::hub {
namespace {

using testing::HasSubstr;

class StudyJournalsTest : public testing::Test {
 protected:
  std::string complaint(const StudyJournals::Piece& piece, std::string_view bytes) {
    return message_of([&] { journals_.append(lr_, piece, bytes); });
  }
  TemporaryDirectory place_;
  StudyJournals journals_{place_.path() / "journals"};
  const StudyJournals::Study lr_{"ada", "lr"};
};

TEST_F(StudyJournalsTest, LogsGrowAndAreReadBack) {
  journals_.carry_out(lr_, "first");
  EXPECT_EQ(journals_.append(lr_, {"0", "first", 0}, "abc"), 3u);
  EXPECT_EQ(journals_.append(lr_, {"0", "first", 3}, "def"), 6u);
  EXPECT_EQ(journals_.append(lr_, {"0.1", "first", 0}, "ghi"), 3u);
  const StudyJournals again(place_.path() / "journals");
  const auto logs = again.logs(lr_);
  ASSERT_EQ(logs.size(), 2u);
  EXPECT_EQ(logs[0].name, "0");
  EXPECT_EQ(logs[0].bytes, 6u);
  EXPECT_EQ(logs[1].name, "0.1");
  EXPECT_EQ(again.read(lr_, "0", 0), "abcdef");
  EXPECT_EQ(again.read(lr_, "0", 4), "ef");
  EXPECT_EQ(again.read(lr_, "0", 6), "");
}

TEST_F(StudyJournalsTest, AnotherOwnersStudyOfTheSameNameIsAnother) {
  journals_.carry_out(lr_, "first");
  journals_.append(lr_, {"0", "first", 0}, "abc");
  EXPECT_TRUE(journals_.logs({"bob", "lr"}).empty());
  EXPECT_THAT(message_of([&] {
                (void)journals_.read({"bob", "lr"}, "0", 0);
              }),
              HasSubstr("has no log 0 here"));
}

TEST_F(StudyJournalsTest, APieceMayBeSentAgain) {
  journals_.carry_out(lr_, "first");
  journals_.append(lr_, {"0", "first", 0}, "abc");
  EXPECT_EQ(journals_.append(lr_, {"0", "first", 0}, "abc"), 3u);   // its answer was lost
  EXPECT_EQ(journals_.append(lr_, {"0", "first", 1}, "bcde"), 5u);  // half of it was there
  EXPECT_EQ(journals_.read(lr_, "0", 0), "abcde");
}

TEST_F(StudyJournalsTest, WhoTookOverMakesTheOtherRefused) {
  journals_.carry_out(lr_, "first");
  journals_.append(lr_, {"0", "first", 0}, "abc");
  journals_.carry_out(lr_, "second");
  EXPECT_THROW(journals_.append(lr_, {"0", "first", 3}, "def"), StudyConflict);
  EXPECT_THAT(complaint({"0", "first", 3}, "def"), HasSubstr("carried out by another"));
  EXPECT_EQ(journals_.append(lr_, {"1", "second", 0}, "xyz"), 3u);
  EXPECT_THROW(journals_.append({"ada", "never"}, {"0", "second", 0}, "a"), StudyConflict);
}

TEST_F(StudyJournalsTest, WhatDoesNotContinueTheLogIsRefusedAndChangesNothing) {
  journals_.carry_out(lr_, "first");
  journals_.append(lr_, {"0", "first", 0}, "abc");
  EXPECT_THAT(complaint({"0", "first", 4}, "e"), HasSubstr("has 3 bytes here"));
  EXPECT_THAT(complaint({"0", "first", 1}, "xc"), HasSubstr("says something else"));
  EXPECT_THAT(complaint({"../run", "first", 0}, "x"), HasSubstr("is no log of a journal"));
  EXPECT_THAT(complaint({"0.", "first", 0}, "x"), HasSubstr("is no log of a journal"));
  EXPECT_THAT(complaint({"0", "", 0}, "x"), HasSubstr("run: expected"));
  EXPECT_THAT(complaint({"0", "first", StudyJournals::largest_log}, "x"), HasSubstr("has 3 bytes here"));
  EXPECT_THAT(message_of([&] { journals_.carry_out({"ada", "../lr"}, "first"); }), HasSubstr("name"));
  EXPECT_EQ(journals_.read(lr_, "0", 0), "abc");
}

}  // namespace
}  // namespace longship::hub
