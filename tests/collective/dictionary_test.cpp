// SPDX-License-Identifier: Apache-2.0
#include "collective/dictionary.h"

#include <gtest/gtest.h>

namespace longship::collective {
namespace {

Announcement sum_of(std::string name, std::uint64_t count = 4) {
  return {Kind::allreduce, Type::f32, Op::sum, 0, count, std::move(name)};
}

TEST(DictionaryTest, AStepLikeTheOneBeforeIsOneRange) {
  Dictionary dictionary;
  Report step;
  for (int i = 0; i < 1000; ++i) step.announcements.push_back(sum_of("layer." + std::to_string(i)));
  EXPECT_GT(encoded(shortened(step, dictionary)).size(), 10'000u);
  for (const auto& one : step.announcements) dictionary.learn(one);
  const auto short_one = shortened(step, dictionary);
  EXPECT_EQ(short_one.numbers, (std::vector<NumberRange>{{0, 1000}}));
  EXPECT_LT(encoded(short_one).size(), 50u);
  EXPECT_EQ(spelled_out(decoded_report(encoded(short_one)), dictionary).announcements, step.announcements);
}

TEST(DictionaryTest, WhatDiffersInAnythingIsSaidInFull) {
  Dictionary dictionary;
  dictionary.learn(sum_of("w"));
  EXPECT_TRUE(dictionary.number(sum_of("w")));
  EXPECT_FALSE(dictionary.number(sum_of("w", 5)));
  Announcement other = sum_of("w");
  other.postscale = 2;
  EXPECT_FALSE(dictionary.number(other));
  other = sum_of("w");
  other.set = 1;
  EXPECT_FALSE(dictionary.number(other));
  const Report mixed = {{sum_of("new"), sum_of("w")}, false};
  const auto back = spelled_out(shortened(mixed, dictionary), dictionary);
  EXPECT_EQ(back.announcements, (std::vector<Announcement>{sum_of("w"), sum_of("new")}));
}

// A rank that is behind says the old number; rank 0 still knows what it meant.
TEST(DictionaryTest, ANameThatChangesItsShapeGetsAnotherNumber) {
  Dictionary behind, ahead;
  for (Dictionary* one : {&behind, &ahead}) one->learn(sum_of("w", 4));
  ahead.learn(sum_of("w", 8));
  const auto report = spelled_out(shortened(Report{{sum_of("w", 4)}, false}, behind), ahead);
  EXPECT_EQ(report.announcements.front().count, 4u);
  EXPECT_EQ(ahead.word(*ahead.number("w")).count, 8u);
}

// Ranks differ in what does not matter; their numbers must not.
TEST(DictionaryTest, WhatRanksNeedNotAgreeOnMakesNoNumber) {
  Dictionary dictionary;
  Announcement first = {Kind::broadcast, Type::f32, Op::sum, 1, 4, "b"}, second = first;
  second.op = Op::max;
  second.prescale = 3;
  ASSERT_TRUE(agree(first, second));
  dictionary.learn(first);
  dictionary.learn(second);
  EXPECT_EQ(dictionary.number(second), 0u);
  dictionary.learn(sum_of("next"));
  EXPECT_EQ(dictionary.number(sum_of("next")), 1u);
}

TEST(DictionaryTest, WhatMayDifferBetweenRanksIsNeverLearned) {
  Dictionary dictionary;
  for (const Kind kind : {Kind::allgather, Kind::alltoall, Kind::join, Kind::add_set, Kind::remove_set}) {
    Announcement one = sum_of("w");
    one.kind = kind;
    dictionary.learn(one);
    EXPECT_FALSE(dictionary.number("w")) << name_of(kind);
  }
}

TEST(DictionaryTest, DecisionsAreShortenedWholeOrNotAtAll) {
  Dictionary dictionary;
  for (const char* name : {"a", "b", "c"}) dictionary.learn(sum_of(name));
  Decision decision;
  decision.names = {"b", "c", "a"};
  const Decision short_one = shortened(decision, dictionary);
  EXPECT_EQ(short_one.numbers, (std::vector<NumberRange>{{1, 2}, {0, 1}}));
  EXPECT_EQ(spelled_out(decoded_decision(encoded(short_one)), dictionary), decision);
  decision.names.push_back("unknown");
  EXPECT_EQ(shortened(decision, dictionary), decision);
  decision.names = {"a"};
  decision.error = "why";
  EXPECT_EQ(shortened(decision, dictionary), decision);
}

TEST(DictionaryTest, ANumberThatIsNoneIsAnError) {
  Report report;
  report.numbers = {{0, 1}};
  EXPECT_ANY_THROW(static_cast<void>(spelled_out(report, Dictionary{})));
}

TEST(DictionaryTest, EverNewNamesDoNotFillTheMemory) {
  Dictionary dictionary;
  for (std::size_t i = 0; i <= Dictionary::most_words; ++i) dictionary.learn(sum_of(std::to_string(i)));
  EXPECT_TRUE(dictionary.number("0"));
  EXPECT_FALSE(dictionary.number(std::to_string(Dictionary::most_words)));
}

}  // namespace
}  // namespace longship::collective
